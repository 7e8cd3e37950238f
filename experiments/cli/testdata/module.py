"""What the program ./mine of a module fits is exported to ONNX and has intervals, and Python fits and loads it too."""
import subprocess

import localcal
import numpy as np
import onnxruntime

rng = np.random.default_rng(0)
arrays = {}
for part, n in (("cal", 1200), ("test", 300)):
    y = rng.integers(0, 4, n)
    x = rng.normal(size=(n, 16)).astype(np.float32)
    x[:, :4] += 2 * np.eye(4, dtype=np.float32)[y]
    arrays |= {f"{part}_features": x, f"{part}_logits": 3 * x[:, :4], f"{part}_labels": y}
np.savez("rows.npz", **arrays)


def mine(*words):
    subprocess.run(["./mine", *words, "--quiet"], check=True, stdout=subprocess.DEVNULL)


few = {"codebook__slots": 4, "codebook__codewords": 8}
settings = [word for key, value in few.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]
mine("fit", "--in", "rows.npz", "--method", "mine", "--out", "run", *settings)
mine("apply", "--model", "run", "--in", "rows.npz", "--intervals", "0.9", "--out", "applied.npz")
mine("export", "--model", "run", "--numbers", "float64", "--onnx", "mine.onnx")
applied = np.load("applied.npz")
p, lower, upper = applied["probs"], applied["lower"], applied["upper"]
assert np.all(lower <= p) and np.all(p <= upper) and 0 < np.mean(upper - lower) < 0.5, np.mean(upper - lower)

session = onnxruntime.InferenceSession("mine.onnx", providers=["CPUExecutionProvider"])
rows = {"features": arrays["test_features"].astype(np.float64), "logits": arrays["test_logits"].astype(np.float64)}
(served,) = session.run(["probabilities"], {i.name: rows[i.name] for i in session.get_inputs()})
assert np.abs(served - p).max() < 1e-6  # what float32 leaves, in which apply predicts

fitted = localcal.Calibrator("mine", program="./mine", **few)
fitted.fit(arrays["cal_logits"], arrays["cal_labels"], features=arrays["cal_features"])
fitted.save("python")
test = arrays["test_logits"], arrays["test_features"]
again = localcal.Calibrator.load("python").predict_proba(*test)
assert np.array_equal(fitted.predict_proba(*test), again) and np.allclose(again.sum(1), 1)
nll = -np.log(p[np.arange(300), arrays["test_labels"]]).mean()
print(f"mine: NLL {nll:.3f}, intervals of {np.mean(upper - lower):.3f}, ONNX Runtime within {np.abs(served - p).max():.0e}")
