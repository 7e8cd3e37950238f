"""Applies a calibrator to a data set of Ray, batch by batch, and evaluates what it said.

    pip install "ray[data]" ./dist/calibra-….whl
    python experiments/python/on_ray.py

It ends with an error where a batch is calibrated otherwise than all rows at once.
"""
import sys
import tempfile

import numpy as np
import ray

import calibra


class Apply:
    """What a worker of Ray does: it loads the model once and calibrates batches."""

    def __init__(self, folder):
        self.calibrator = calibra.Calibrator.load(folder)

    def __call__(self, batch):
        probs = self.calibrator.predict_proba(np.stack(batch["logits"]))
        return {"id": batch["id"], "label": batch["label"], "probs": probs}


def rows(seed, n=2000, classes=4):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    return 3 * (2 * np.eye(classes)[y] + rng.normal(size=(n, classes))), y


with tempfile.TemporaryDirectory() as folder:
    calibra.Calibrator("vector").fit(*rows(0)).save(folder)
    logits, y = rows(1)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    table = ray.data.from_items([{"id": i, "label": int(y[i]), "logits": logits[i]} for i in range(len(y))])
    said = table.map_batches(Apply, fn_constructor_args=(folder,), batch_size=500, concurrency=1).take_all()
    ray.shutdown()
    said.sort(key=lambda row: row["id"])
    p = np.stack([row["probs"] for row in said])
    apart = np.abs(p - calibra.Calibrator.load(folder).predict_proba(logits)).max()

measured = calibra.evaluate(p, np.array([row["label"] for row in said]))
print(f"Ray {ray.__version__}: {len(p)} rows in batches of 500, {apart:.0e} from all at once; NLL {measured['nll'].value:.4f}")
if len(p) != len(y) or not apart < 1e-9:  # products of other batches round otherwise
    sys.exit("Ray calibrates otherwise")
