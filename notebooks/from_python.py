"""Calibrates a scikit-learn and a PyTorch classifier from Python, with calibra as a command.

    go build ./experiments/cmd/calibra
    pip install numpy scikit-learn onnxruntime safetensors        # and torch, if you like
    python notebooks/from_python.py ./calibra

Each classifier is trained on half of scikit-learn's digits, calibrated on a quarter and
judged on the rest. What calibra wrote is read back as numpy arrays, and the exported
network runs in ONNX Runtime. The script ends with an error where the two disagree.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

calibra = sys.argv[1] if len(sys.argv) > 1 else "calibra"


def run(*args):
    done = subprocess.run([calibra, *map(str, args)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)


def calibrate(name, cal, test):
    """cal and test are (features, logits, labels); gives calibrated probabilities of test."""
    folder = pathlib.Path(tempfile.mkdtemp())
    arrays = {f"{part}_{key}": a for part, rows in (("cal", cal), ("test", test)) for key, a in zip(("features", "logits", "labels"), rows)}
    np.savez_compressed(folder / "features.npz", **arrays)
    run("fit", "--in", folder / "features.npz", "--method", "pool", "--out", folder / "run")
    run("apply", "--model", folder / "run", "--in", folder / "features.npz", "--out", folder / "calibrated.npz")
    run("export", "--model", folder / "run", "--onnx", folder / "calibrator.onnx")

    probabilities = np.load(folder / "calibrated.npz")["probs"]
    session = onnxruntime.InferenceSession(str(folder / "calibrator.onnx"), providers=["CPUExecutionProvider"])
    (served,) = session.run(["probabilities"], {"features": test[0].astype(np.float32), "logits": test[1].astype(np.float32)})
    apart = np.abs(served - probabilities).max()

    # The model is a safetensors file: Python reads it, and calibra reads what Python writes.
    model = folder / "run" / "model.safetensors"
    with safe_open(model, "numpy") as f:
        tensors, metadata = {key: f.get_tensor(key) for key in f.keys()}, f.metadata()
    (folder / "copy").mkdir()
    save_file(tensors, folder / "copy" / "model.safetensors", metadata)
    run("apply", "--model", folder / "copy" / "model.safetensors", "--in", folder / "features.npz", "--out", folder / "again.npz")
    again = np.abs(np.load(folder / "again.npz")["probs"] - probabilities).max()

    nll = lambda p: -np.log(np.maximum(p[np.arange(len(p)), test[2]], 1e-12)).mean()
    softmax = np.exp(test[1] - test[1].max(1, keepdims=True))
    print(f"{name}: NLL {nll(softmax / softmax.sum(1, keepdims=True)):.3f}, calibrated {nll(probabilities):.3f}; "
          f"ONNX Runtime within {apart:.0e}; {metadata['method']} of {len(tensors)} tensors")
    if not (apart < 1e-6 and again == 0):
        sys.exit(f"{name}: the exported network is {apart} away, the copied model {again}")


def scikit_learn(x, y):
    net = MLPClassifier((32,), max_iter=1000, random_state=1).fit(x[train], y[train])

    def outputs(rows):
        hidden = np.maximum(x[rows] @ net.coefs_[0] + net.intercepts_[0], 0)
        return hidden, hidden @ net.coefs_[1] + net.intercepts_[1], y[rows]

    return outputs


def pytorch(x, y):
    import torch

    torch.manual_seed(1)
    body, head = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU()), torch.nn.Linear(32, 10)
    adam = torch.optim.Adam([*body.parameters(), *head.parameters()], 1e-2)
    xt, yt = torch.tensor(x[train], dtype=torch.float32), torch.tensor(y[train])
    for _ in range(300):
        adam.zero_grad()
        torch.nn.functional.cross_entropy(head(body(xt)), yt).backward()
        adam.step()

    def outputs(rows):
        with torch.no_grad():
            features = body(torch.tensor(x[rows], dtype=torch.float32))
            return features.numpy(), head(features).numpy(), y[rows]

    return outputs


x, y = load_digits(return_X_y=True)
x = x / 16
order = np.random.default_rng(1).permutation(len(x))
train, cal, test = order[:900], order[900:1350], order[1350:]
for name, train_on in (("scikit-learn", scikit_learn), ("PyTorch", pytorch)):
    try:
        outputs = train_on(x, y)
    except ImportError:
        print(f"{name} is not installed here")
        continue
    calibrate(name, outputs(cal), outputs(test))
