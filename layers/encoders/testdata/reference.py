"""Writes the state dicts and values that torch_test.go compares with: the networks of
this package as a PyTorch user writes them. Run with torch 1.13: python3 reference.py"""
import json, struct
import torch
from torch import nn
from torch.nn import functional as F


def save(path, tensors):
    header, body = {}, b""
    for name, t in tensors.items():
        if t.dtype != torch.float32:  # num_batches_tracked
            continue
        raw = t.contiguous().numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + body)


class MLP(nn.Module):
    def __init__(self, columns, widths, classes):
        super().__init__()
        self.blocks = nn.ModuleList()
        for width in widths:
            self.blocks.append(nn.ModuleDict({"linear": nn.Linear(columns, width)}))
            columns = width
        self.output = nn.Linear(columns, classes)

    def forward(self, x):
        for b in self.blocks:
            x = F.relu(b["linear"](x))
        return x, self.output(x)


class ResMLP(nn.Module):
    def __init__(self, columns, block, hidden, blocks, classes):
        super().__init__()
        self.input_projection = nn.Linear(columns, block)
        self.blocks = nn.ModuleList(nn.ModuleDict({
            "normalization": nn.BatchNorm1d(block), "linear1": nn.Linear(block, hidden), "linear2": nn.Linear(hidden, block),
        }) for _ in range(blocks))
        self.output = nn.ModuleDict({"normalization": nn.BatchNorm1d(block), "linear": nn.Linear(block, classes)})

    def forward(self, x):
        x = self.input_projection(x)
        for b in self.blocks:
            x = x + b["linear2"](F.relu(b["linear1"](b["normalization"](x))))
        x = F.relu(self.output["normalization"](x))
        return x, self.output["linear"](x)


class Attention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.W_q, self.W_k, self.W_v, self.W_out = (nn.Linear(d, d) for _ in range(4))
        self.heads = heads

    def forward(self, q, kv):
        def split(x):
            return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        q, k, v = split(self.W_q(q)), split(self.W_k(kv)), split(self.W_v(kv))
        p = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1)
        return self.W_out((p @ v).transpose(1, 2).flatten(-2))


class FTTransformer(nn.Module):
    """Reads a row of numbers whose columns in categories are embedded."""

    def __init__(self, columns, categories, d, heads, hidden, blocks, classes):
        super().__init__()
        self.categories, numbers = categories, columns - len(categories)
        self.cls_embedding = nn.ParameterDict({"weight": nn.Parameter(torch.randn(d))})
        self.cont_embeddings = nn.ParameterDict({"weight": nn.Parameter(torch.randn(numbers, d)), "bias": nn.Parameter(torch.randn(numbers, d))})
        self.cat_embeddings = nn.Module()
        self.cat_embeddings.embeddings = nn.ModuleList(nn.Embedding(n, d) for n in categories.values())
        self.cat_embeddings.bias = nn.Parameter(torch.randn(len(categories), d))
        self.backbone = nn.Module()
        self.backbone.blocks = nn.ModuleList()
        for l in range(blocks):
            b = {"attention": Attention(d, heads), "ffn_normalization": nn.LayerNorm(d),
                 "ffn": nn.ModuleDict({"linear1": nn.Linear(d, 2 * hidden), "linear2": nn.Linear(hidden, d)})}
            if l > 0:
                b["attention_normalization"] = nn.LayerNorm(d)
            self.backbone.blocks.append(nn.ModuleDict(b))
        self.backbone.output = nn.ModuleDict({"normalization": nn.LayerNorm(d), "linear": nn.Linear(d, classes)})

    def forward(self, x):
        numbers = [j for j in range(x.shape[1]) if j not in self.categories]
        tokens = [self.cls_embedding["weight"].expand(len(x), 1, -1),
                  x[:, numbers, None] * self.cont_embeddings["weight"] + self.cont_embeddings["bias"]]
        tables = zip(self.categories, self.cat_embeddings.embeddings)
        tokens.append(torch.stack([e(x[:, j].long()) for j, e in tables], 1) + self.cat_embeddings.bias)
        t = torch.cat(tokens, 1)
        for b in self.backbone.blocks:
            z = b["attention_normalization"](t) if "attention_normalization" in b else t
            t = t + b["attention"](z, z)
            a, g = b["ffn"]["linear1"](b["ffn_normalization"](t)).chunk(2, -1)
            t = t + b["ffn"]["linear2"](a * F.relu(g))
        f = F.relu(self.backbone.output["normalization"](t[:, 0]))
        return f, self.backbone.output["linear"](f)


class BasicBlock(nn.Module):
    def __init__(self, a, b, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b)
        self.conv2, self.bn2 = nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b)
        self.downsample = None
        if stride != 1 or a != b:
            self.downsample = nn.Sequential(nn.Conv2d(a, b, 1, stride, bias=False), nn.BatchNorm2d(b))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self, channels, widths, blocks, classes):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, widths[0], 3, 1, 1, bias=False), nn.BatchNorm2d(widths[0])
        a = widths[0]
        for s, b in enumerate(widths):
            stage = []
            for l in range(blocks):
                stage.append(BasicBlock(a, b, 2 if s > 0 and l == 0 else 1))
                a = b
            setattr(self, f"layer{s + 1}", nn.Sequential(*stage))
        self.stages, self.fc = len(widths), nn.Linear(a, classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        for s in range(self.stages):
            x = getattr(self, f"layer{s + 1}")(x)
        x = x.mean((2, 3))
        return x, self.fc(x)


def write(name, net, x):
    for m in net.modules():  # as if trained: no norm is the identity
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.LayerNorm)):
            nn.init.uniform_(m.weight, 0.5, 1.5), nn.init.normal_(m.bias, 0, 0.3)
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d)):
            m.running_mean.normal_(0, 0.3), m.running_var.uniform_(0.5, 2)
    save(f"{name}.safetensors", net.state_dict())
    net.eval()
    features, logits = net(x)
    values = {"x": x.flatten(1).tolist(), "features": features.tolist(), "logits": logits.tolist()}
    net.train()
    values["training_logits"] = net(x)[1].tolist()
    values["running"] = {k: v.tolist() for k, v in net.state_dict().items() if "running" in k}
    with open(f"{name}.json", "w") as f:
        json.dump(values, f)


torch.manual_seed(1)
write("mlp", MLP(4, [5, 3], 3), torch.randn(6, 4))
write("resmlp", ResMLP(4, 5, 6, 2, 3), torch.randn(6, 4))
x = torch.randn(6, 5)
x[:, 1], x[:, 3] = torch.randint(3, (6,)).float(), torch.randint(2, (6,)).float()
write("ftt", FTTransformer(5, {1: 3, 3: 2}, 8, 2, 5, 3, 3), x)
write("resnet", ResNet(2, [8, 9], 2, 3), torch.randn(4, 2, 6, 7))
