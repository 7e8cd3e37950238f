"""The workloads of `go run ./experiments/bench` on PyTorch, eager and compiled, and on JAX, as one who knows them writes them.

    pip install torch jax numpy
    python peers.py eager|compile|jax [--threads 2] [--scale 1]

Prints one line of JSON with the keys of `go run ./experiments/bench --json`, and the machine's load before it began.

What is not the first way to write it, but faster: codes from min and not argmin, averages as sums by
index, a fused optimizer, predictions from a table of what a slot adds to the head, a whole epoch as one
compiled loop in JAX, codes and averages outside of torch.compile, whose code for them is slower, and one
kernel matrix for all classes, whose sums over the bins are products with one-hot rows. --scale 0.1 is for
trying it out. OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE, where a machine sets them, are dropped.
"""
import argparse
import json
import os
import time

ap = argparse.ArgumentParser()
ap.add_argument("peer", choices=["eager", "compile", "jax"])
ap.add_argument("--threads", type=int, default=2)
ap.add_argument("--scale", type=float, default=1)
ap.add_argument("--only", default="", help="these workloads, by their keys")
a = ap.parse_args()
load = os.getloadavg()[0]
for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):  # read when the library is loaded
    os.environ.pop(name, None)
os.environ["OMP_NUM_THREADS"] = str(a.threads)
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: a.threads])

W, K, M, BATCH, BINS, GAMMA, RATE, DECAY = 64, 64, 2048, 128, 15, 10.0, 1e-3, 1e-3
rows = lambda n: max(BATCH, int(n * a.scale) // BATCH * BATCH) if a.scale < 1 else n


def best(run, reps=3):
    run()
    times = []
    for _ in range(reps):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def with_torch(compiled):
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(a.threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(0)
    fast = (lambda f: torch.compile(f, dynamic=False)) if compiled else (lambda f: f)
    d = M // W

    def codes(x, book):
        return torch.addmm((book * book).sum(1), x.view(-1, d), book.t(), alpha=-2).min(1).indices

    def quantizer(C=10):
        n = rows(10000)
        x, y = torch.randn(n, M).relu_(), torch.randint(0, C, (n,))
        book = x.view(-1, d)[torch.randperm(n * W)[:K]].clone()
        size, total = torch.ones(K), book.clone()
        head = torch.nn.Linear(M, C)
        adam = torch.optim.Adam(head.parameters(), RATE, weight_decay=DECAY, fused=True)

        loss = fast(lambda q, y: F.cross_entropy(F.linear(q, head.weight, head.bias), y))

        def averages(x, s, size, total):
            counts = torch.zeros(K).index_add_(0, s, torch.ones_like(s, dtype=torch.float32))
            sums = torch.zeros(K, d).index_add_(0, s, x.view(-1, d))
            size, total = 0.99 * size + 0.01 * counts, 0.99 * total + 0.01 * sums
            return size, total, total / (size + 1e-8)[:, None]

        def epoch():
            nonlocal book, size, total
            for r in torch.randperm(n).split(BATCH):
                z = x.index_select(0, r)
                s = codes(z, book)
                adam.zero_grad(set_to_none=True)
                loss(book.index_select(0, s).view(-1, M), y[r]).backward()
                adam.step()
                with torch.no_grad():
                    size, total, book = averages(z, s, size, total)

        return epoch

    def scores(A, B, pi, logp, mass):
        C = logp.shape[1]
        form = mass @ (A[:, :, None] * B[:, None, :]).view(K, C * C)  # Σ_k n_k a_k b_kᵀ
        alpha = F.softplus(form.view(-1, C, C)) + 1e-8
        log_b = torch.lgamma(alpha).sum(1) - torch.lgamma(alpha.sum(1))
        return F.log_softmax(pi, 0) - log_b + torch.bmm(logp[:, None], alpha - 1)[:, 0] + logp

    def masses(s):
        s = s.view(-1, W)
        return torch.zeros(len(s), K).scatter_add_(1, s, torch.ones_like(s, dtype=torch.float32))

    def calibrator(C, n):
        n = rows(n)
        logp, mass, y = F.log_softmax(2 * torch.randn(n, C), 1), masses(torch.randint(0, K, (n, W))), torch.randint(0, C, (n,))
        A = torch.nn.Parameter(0.09 + 1e-2 * torch.randn(K, C))
        B, pi = torch.nn.Parameter(A.detach().clone()), torch.nn.Parameter(torch.zeros(C))
        adam = torch.optim.Adam([A, B, pi], RATE, weight_decay=DECAY, fused=True)
        loss = fast(lambda l, m, y: F.cross_entropy(scores(A, B, pi, l, m), y))

        def epoch():
            for r in torch.randperm(n).split(BATCH):
                adam.zero_grad(set_to_none=True)
                loss(logp[r], mass[r], y[r]).backward()
                adam.step()

        return epoch

    def sums(zi, own, z, half, H, R):
        """Residuals and effective sample sizes of the rows zi by class; the row itself counts in the mean only."""
        k = torch.addmm(-half, zi, z.t())
        k = k.sub_((zi * zi).sum(1, keepdim=True) / 2).clamp_(max=0).exp_()
        total, mean = (k @ H).gather(1, own), (k @ R).gather(1, own)
        squares = (k.square_() @ H).gather(1, own)
        return (mean / total).abs().sum(0), ((total - 1) ** 2 / (squares - 1 + 1e-12)).sum(0)

    def lce(C, n):
        n = rows(n)
        z = torch.randn(n, 50) * torch.linspace(12, 1, 50) / GAMMA
        p, y = torch.softmax(3 * torch.randn(n, C), 1), torch.randint(0, C, (n,))
        block = fast(sums)

        @torch.inference_mode()
        def run():
            own = torch.bucketize(p, torch.linspace(0, 1, BINS + 1), right=True).clamp(1, BINS) - 1 + torch.arange(C) * BINS
            H = torch.zeros(n, C * BINS).scatter_(1, own, 1.0)
            R = torch.zeros(n, C * BINS).scatter_(1, own, p - F.one_hot(y, C))
            half = (z * z).sum(1) / 2
            for part, o in zip(z.split(1024), own.split(1024)):
                block(part, o, z, half, H, R)

        return run

    def inference(C=10):
        n = rows(20000)
        x, book = torch.randn(n, M).relu_(), torch.randn(K, d)
        head = torch.nn.Linear(M, C)
        says = torch.einsum("kj,cwj->wkc", book, head.weight.detach().view(C, W, d)).reshape(W * K, C).contiguous()
        first = torch.arange(W) * K
        A = 0.09 + 1e-2 * torch.randn(K, C)
        B, pi = A.clone(), torch.zeros(C)

        def predict(x):
            s = codes(x, book).view(-1, W)
            logp = F.log_softmax(F.embedding_bag(s + first, says, mode="sum") + head.bias, 1)
            return torch.softmax(scores(A, B, pi, logp, masses(s)), 1)

        predict = fast(predict)

        @torch.inference_mode()
        def run():
            for part in x.split(1024):
                predict(part)

        return run, n

    return torch.__version__, quantizer, calibrator, lce, inference


def with_jax():
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=true"
    import jax
    import jax.numpy as np

    key = iter(jax.random.split(jax.random.PRNGKey(0), 64))
    d = M // W
    normal = lambda *shape: jax.random.normal(next(key), shape)
    whole = lambda most, *shape: jax.random.randint(next(key), shape, 0, most)

    def codes(x, book):
        return np.argmin((book * book).sum(1) - 2 * x.reshape(-1, d) @ book.T, 1)

    def nll(scores, y):
        return -np.take_along_axis(jax.nn.log_softmax(scores), y[:, None], 1).mean()

    def adam(weights, moments, gradient, t):
        def one(w, m, v, g):
            g = g + DECAY * w
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            return w - RATE * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8), m, v

        out = [one(*each) for each in zip(weights, *moments, gradient)]
        return [o[0] for o in out], ([o[1] for o in out], [o[2] for o in out])

    def epochs(step, state, n, *data):
        batches = n // BATCH

        @jax.jit
        def epoch(state, key):
            order = jax.random.permutation(key, n)[: batches * BATCH].reshape(batches, BATCH)
            return jax.lax.scan(lambda s, r: (step(s, *(x[r] for x in data)), None), state, order)[0]

        def run():
            nonlocal state
            state = jax.block_until_ready(epoch(state, jax.random.PRNGKey(1)))

        return run

    def quantizer(C=10):
        n = rows(10000)
        x, y = jax.nn.relu(normal(n, M)), whole(C, n)
        book = x.reshape(-1, d)[:K]
        weights = [normal(M, C) / 45, np.zeros(C)]
        zeros = [np.zeros_like(w) for w in weights]

        def step(state, z, y):
            weights, moments, t, book, size, total = state
            s = codes(z, book)
            q = book[s].reshape(-1, M)
            g = jax.grad(lambda w: nll(q @ w[0] + w[1], y))(weights)
            weights, moments = adam(weights, moments, g, t)
            size = 0.99 * size + 0.01 * np.zeros(K).at[s].add(1)
            total = 0.99 * total + 0.01 * np.zeros((K, d)).at[s].add(z.reshape(-1, d))
            return weights, moments, t + 1, total / (size + 1e-8)[:, None], size, total

        return epochs(step, (weights, (zeros, zeros), 1.0, book, np.ones(K), book), n, x, y)

    def scores(A, B, pi, logp, mass):
        C = logp.shape[1]
        form = mass @ (A[:, :, None] * B[:, None, :]).reshape(K, C * C)
        alpha = jax.nn.softplus(form.reshape(-1, C, C)) + 1e-8
        log_b = jax.lax.lgamma(alpha).sum(1) - jax.lax.lgamma(alpha.sum(1))
        return jax.nn.log_softmax(pi) - log_b + np.einsum("bi,bij->bj", logp, alpha - 1) + logp

    def masses(s):
        s = s.reshape(-1, W)
        return np.zeros((len(s), K)).at[np.arange(len(s))[:, None], s].add(1)

    def calibrator(C, n):
        n = rows(n)
        logp, mass, y = jax.nn.log_softmax(2 * normal(n, C)), masses(whole(K, n, W)), whole(C, n)
        A = 0.09 + 1e-2 * normal(K, C)
        weights = [A, A, np.zeros(C)]
        zeros = [np.zeros_like(w) for w in weights]

        def step(state, l, m, y):
            weights, moments, t = state
            g = jax.grad(lambda w: nll(scores(*w, l, m), y))(weights)
            return *adam(weights, moments, g, t), t + 1

        return epochs(step, (weights, (zeros, zeros), 1.0), n, logp, mass, y)

    def lce(C, n):
        n = rows(n)
        z = normal(n, 50) * np.linspace(12, 1, 50) / GAMMA
        p, y = jax.nn.softmax(3 * normal(n, C)), whole(C, n)
        edges = np.linspace(0, 1, BINS + 1)

        @jax.jit
        def everything(z, p, y):
            own = np.clip(np.searchsorted(edges, p.ravel(), side="right").reshape(n, C), 1, BINS) - 1
            H = jax.nn.one_hot(own, BINS)  # n×C×BINS
            R = (H * (p - jax.nn.one_hot(y, C))[:, :, None]).reshape(n, -1)
            H, half = H.reshape(n, -1), (z * z).sum(1) / 2
            rest = -n % 1024
            parts = (np.pad(z, ((0, rest), (0, 0))).reshape(-1, 1024, 50), np.pad(own, ((0, rest), (0, 0))).reshape(-1, 1024, C))

            def block(_, part):
                zi, own = part
                k = np.exp(np.minimum(zi @ z.T - (zi * zi).sum(1)[:, None] / 2 - half, 0))
                take = lambda t: np.take_along_axis(t.reshape(1024, C, BINS), own[:, :, None], 2)[:, :, 0]
                total, mean, squares = take(k @ H), take(k @ R), take((k * k) @ H)
                return None, (np.abs(mean / total), (total - 1) ** 2 / (squares - 1 + 1e-12))

            return jax.lax.scan(block, None, parts)[1]

        return lambda: jax.block_until_ready(everything(z, p, y))

    def inference(C=10):
        n = rows(20000)
        x, book, weight = jax.nn.relu(normal(n, M)), normal(K, d), normal(M, C) / 45
        says = np.einsum("kj,wjc->wkc", book, weight.reshape(W, d, C)).reshape(W * K, C)
        A = 0.09 + 1e-2 * normal(K, C)

        @jax.jit
        def predict(x):
            s = codes(x, book).reshape(-1, W)
            logp = jax.nn.log_softmax(says[s + np.arange(W) * K].sum(1))
            return jax.nn.softmax(scores(A, A, np.zeros(C), logp, masses(s)))

        def run():
            jax.block_until_ready([predict(x[lo : lo + 1024]) for lo in range(0, n, 1024)])

        return run, n

    return jax.__version__, quantizer, calibrator, lce, inference


version, quantizer, calibrator, lce, inference = with_jax() if a.peer == "jax" else with_torch(a.peer == "compile")
workloads = {
    "quantizer_epoch_s": lambda: best(quantizer()),
    "calibrator_epoch_s_c10": lambda: best(calibrator(10, 10000)),
    "calibrator_epoch_s_c100_1000rows": lambda: best(calibrator(100, 1000)),
    "lce_s_c10": lambda: best(lce(10, 20250)),
    "lce_s_c100_5000rows": lambda: best(lce(100, 5000)),
    "inference_rows_per_s": lambda: (lambda run, n: n / best(run))(*inference()),
}
out = {"peer": a.peer, "version": version, "threads": a.threads, "load": load}
for key, measure in workloads.items():
    if not a.only or key in a.only.split(","):
        out[key] = measure()
print(json.dumps(out))
