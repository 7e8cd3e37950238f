"""Models of PyTorch: what they say of rows, and that they say the same, calibrated, as one module."""
import copy
import io
import json
import os
import pickle
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("onnx", reason="onnx is not installed")
from torch import nn

import localcal
import localcal.torch


class Block(nn.Module):
    """Two convolutions beside a shortcut, as torchvision's BasicBlock."""

    def __init__(self, before, after):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(before, after, 3, 2, 1, bias=False), nn.BatchNorm2d(after)
        self.conv2, self.bn2 = nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after)
        self.downsample = nn.Sequential(nn.Conv2d(before, after, 1, 2, bias=False), nn.BatchNorm2d(after))

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + self.downsample(x))


class ResNet(nn.Module):
    """The layers of torchvision's ResNet by their names, few of each; weights are random."""

    def __init__(self, classes=5):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 8, 3, 1, 1, bias=False), nn.BatchNorm2d(8)
        self.layer1, self.layer2 = Block(8, 12), Block(12, 16)
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(16, classes)

    def forward(self, x):
        x = self.layer2(self.layer1(torch.relu(self.bn1(self.conv1(x)))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def loader(*arrays, size=64):
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*arrays), batch_size=size)


@pytest.fixture(scope="module")
def images():
    """A network with random weights, and images whose classes are drawn from its sharper probabilities."""
    torch.manual_seed(0)
    model, x = ResNet(), torch.randn(900, 3, 12, 12)
    with torch.no_grad():
        model(x)  # the running means of the normalizations
        model.eval()
        model.fc.weight *= 20
        z = model(x)
        y = torch.distributions.Categorical(logits=2 * z).sample()
    return model, x, y


@pytest.fixture(scope="module")
def digits():
    """A network trained on half of the handwritten digits, and the others."""
    sklearn = pytest.importorskip("sklearn.datasets")
    x, y = map(torch.as_tensor, sklearn.load_digits(return_X_y=True))
    x = x.float() / 16
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(300):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[:500]), y[:500]).backward()
        optimizer.step()
    return model, x[500:], y[500:]


def test_outputs_are_those_of_the_layer(images):
    model, x, y = images
    model.train()
    said = localcal.torch.outputs(model, loader(x, y), layer="avgpool")
    assert model.training
    model.eval()
    with torch.no_grad():
        assert np.abs(said.logits - model(x).numpy()).max() < 1e-4  # batches of another size round otherwise
        assert np.abs(model.fc(torch.tensor(said.features)).numpy() - said.logits).max() < 1e-4
    assert said.features.shape == (900, 16) and np.array_equal(said.y, y.numpy())
    half = localcal.torch.outputs(model, loader(x, y), layer=model.avgpool, device="cpu", autocast=torch.bfloat16)
    assert 0 < np.abs(half.logits - said.logits).max() < 0.05 * np.abs(said.logits).max()  # 8 bits of mantissa
    alone = localcal.torch.outputs(model, torch.utils.data.DataLoader(x, batch_size=100), layer=None)
    assert alone.y is None and alone.features is None and np.abs(alone.logits - said.logits).max() < 1e-4


def test_outputs_of_a_model_with_named_arguments(images):
    model, x, y = images

    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = model

        def forward(self, pixel_values):
            return {"Said": type("Said", (), {"logits": self.body(pixel_values)})}["Said"]

    batches = [{"pixel_values": x[:50], "labels": y[:50]}, {"pixel_values": x[50:100], "labels": y[50:100]}]
    said = localcal.torch.outputs(Named(), batches, layer="body.avgpool")
    assert said.features.shape == (100, 16) and np.array_equal(said.y, y[:100].numpy())


def test_mistakes_are_said(images):
    model, x, y = images
    for call, sentence in (
        (lambda: localcal.torch.outputs(model, loader(x, y), layer="nosuch"), "no layer 'nosuch'; its last are .*avgpool, fc"),
        (lambda: localcal.torch.outputs(model, []), "no batches"),
        (lambda: localcal.torch.outputs(nn.Identity(), loader(x, y), layer=None), "must return logits"),
        (lambda: localcal.torch.write("f.npz", model, train=loader(x, y)), "no set of rows"),
        (lambda: localcal.torch.Calibrated(model, localcal.Calibrator("local-ts").fit(*localcal.torch.outputs(model, loader(x, y)))), "name the layer"),
    ):
        with pytest.raises(localcal.InputError, match=sentence):
            call()


# Together they have all operators that exported networks have.
METHODS = ["corrected", "forest", "ir", "kc", "ln", "pool", "spline", "ts", "venn-abers", "vq"]
if os.environ.get("CALIBRA_CHECK") == "all":
    METHODS = [m["method"] for m in json.loads(localcal.run("methods", "--all", "--json"))]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_the_same_in_torch(images, method):
    """The module gives what the calibrator gives of the model's outputs, and stays so when it is copied, traced and exported."""
    model, x, y = images
    said = localcal.torch.outputs(model, loader(x, y), layer="avgpool", device="cpu")
    keys = {k["key"] for k in json.loads(localcal.run("methods", method, "--json"))}
    few = {name.replace(".", "__"): value for name, value in {"optim.epochs": 2, "search.rows": 200}.items() if name in keys}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calibrator = localcal.Calibrator(method, **few).fit(said.logits[:400], said.y[:400], features=said.features[:400])
        if calibrator.network_ is None:
            with pytest.raises(localcal.InputError, match="has no network"):
                localcal.torch.Calibrated(model, calibrator, layer="avgpool")
            return
        expected = calibrator.predict_proba(said.logits[400:], said.features[400:])
    calibrated = localcal.torch.Calibrated(model, calibrator, layer="avgpool").eval()
    with torch.no_grad():
        logs = calibrated(x[400:])
        assert logs.dtype == torch.float32
        # the model's own outputs differ by 1e-5 in batches of another size
        assert np.abs(logs.exp().numpy() - expected).max() < 1e-4


def test_it_is_a_module(images, tmp_path):
    model, x, y = images
    said = localcal.torch.outputs(model, loader(x, y), layer="avgpool")
    calibrator = localcal.Calibrator("local-ts").fit(*said)
    calibrated = localcal.torch.Calibrated(model, calibrator, layer="avgpool").eval()
    with torch.no_grad():
        logs = calibrated(x[:7])
        for other in (copy.deepcopy(calibrated), pickle.loads(pickle.dumps(calibrated))):
            assert torch.equal(other(x[:7]), logs)
        file = io.BytesIO()
        torch.save(calibrated.state_dict(), file)
        file.seek(0)
        fresh = localcal.torch.Calibrated(ResNet(), calibrator, layer="avgpool").eval()
        fresh.load_state_dict(torch.load(file))
        assert torch.equal(fresh(x[:7]), logs)
        traced = torch.jit.trace(calibrated, x[:3], check_trace=False)
        assert torch.allclose(traced(x[:7]), logs, atol=1e-5)
        if hasattr(torch, "export"):
            exported = torch.export.export(calibrated, (x[:3],), dynamic_shapes=(({0: torch.export.Dim("rows", min=2)},),))
            assert torch.allclose(exported.module()(x[:7]), logs, atol=1e-5)
        double = copy.deepcopy(calibrated).double()
        assert double(x[:7].double()).dtype == torch.float64
        half = copy.deepcopy(calibrated).bfloat16()
        assert half(x[:7].bfloat16()).dtype == torch.bfloat16
        assert {b.dtype for b in half.calibrator.buffers()} == {b.dtype for b in calibrated.calibrator.buffers()}
    image = x[:2].clone().requires_grad_()
    calibrated(image)[:, 0].sum().backward()
    assert torch.isfinite(image.grad).all() and image.grad.abs().max() > 0


def test_digits(digits, tmp_path):
    """Seven lines of the README in one; a trained network is calibrated better, by its own module."""
    model, x, y = digits
    cal, test = slice(0, 700), slice(700, None)
    localcal.torch.write(tmp_path / "features.npz", model, layer="1", cal=loader(x[cal], y[cal]), test=loader(x[test], y[test]))
    localcal.run("fit", "--in", tmp_path / "features.npz", "--method", "ts", "--out", tmp_path / "run")
    calibrated = localcal.torch.Calibrated(model, localcal.Calibrator.load(tmp_path / "run")).eval()
    with torch.no_grad():
        before = nn.functional.cross_entropy(model(x[test]), y[test])
        after = nn.functional.nll_loss(calibrated(x[test]), y[test])
    assert after < 0.95 * before
    logged = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert "nll" in json.dumps(logged)


def test_the_latent_of_a_classifier_is_a_layer(digits):
    """CalibratedClassifier takes features from a layer of an estimator that holds a module_, as skorch's does."""
    sklearn = pytest.importorskip("sklearn.base")
    model, x, y = digits

    class Net(sklearn.ClassifierMixin, sklearn.BaseEstimator):
        def fit(self, X, y):
            self.module_, self.classes_ = model, np.unique(y)
            return self

        def predict_proba(self, X):
            with torch.no_grad():
                return np.concatenate([torch.softmax(model(part), 1).numpy() for part in torch.as_tensor(X).split(100)])

    classifier = localcal.CalibratedClassifier(Net().fit(None, y), method="local-ts", cv="prefit", latent="1").fit(x[:700].numpy(), y[:700].numpy())
    features = model[:2](x[:700]).detach().numpy()
    direct = localcal.Calibrator("local-ts").fit(Net().fit(None, y).predict_proba(x[:700]), y[:700].numpy(), features=features)
    assert np.abs(classifier.predict_proba(x[:700].numpy()) - direct.predict_proba(Net().fit(None, y).predict_proba(x[:700]), features)).max() < 1e-5
