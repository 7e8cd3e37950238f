"""Checks exported networks with the onnx checker and runs them in ONNX Runtime.

    pip install onnx onnxruntime
    python check.py DIR

DIR holds, for each NAME.onnx, a NAME.npz with the inputs (features, logits) and what calibra
apply says of them (probs, and codes where the method has some). Prints one line of JSON for each:
how far probabilities are apart, how many are finite of rows that apply refuses and NaN of others, in how many rows by more than 1e-6, how many codes are others, the
size of the file in bytes, rows in a second of processor time on one thread, the best of three
turns, and the load of the machine before.
"""
import json
import os
import sys
import time

import numpy as np
import onnx
import onnxruntime

folder = sys.argv[1]
load = os.getloadavg()[0]
for file in sorted(os.listdir(folder)):
    if not file.endswith(".onnx"):
        continue
    path = os.path.join(folder, file)
    rows = np.load(path[: -len("onnx")] + "npz")
    onnx.checker.check_model(onnx.load(path), full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    inputs = {i.name: rows[i.name].astype(np.float64 if "double" in i.type else np.float32) for i in session.get_inputs()}
    n = len(rows["probs"])
    seconds = []
    for _ in range(3):
        start = time.process_time()
        parts = [session.run(["probabilities"], {k: v[lo : lo + 512] for k, v in inputs.items()})[0] for lo in range(0, n, 512)]
        seconds.append(time.process_time() - start)
    p = np.concatenate(parts)
    codes = session.run(["codes"], inputs)[0] if "codes" in rows else 0
    torn = {}  # rows that apply refuses, by one input after the other
    for i, k in enumerate(inputs):
        torn[k] = inputs[k].copy()
        torn[k][i :: len(inputs) + 1, 0] = np.nan
        if k == "logits":
            torn[k][i :: 5 * (len(inputs) + 1), 1] = np.inf
            torn[k][i :: 7 * (len(inputs) + 1)] = -np.inf
    nans = np.isnan(session.run(["probabilities"], torn)[0])
    lost = np.arange(n) % (len(inputs) + 1) < len(inputs)
    one = session.run(["probabilities"], {k: v[:1] for k, v in inputs.items()})[0]  # a batch of one row
    print(json.dumps({
        "method": file[: -len(".onnx")],
        "apart": float(np.abs(p - rows["probs"]).max()),
        "rows": int((np.abs(p - rows["probs"]).max(1) > 1e-6).sum()),
        "alone": float(np.abs(one - p[:1]).max()),
        "finite": int((~nans[lost]).sum()),
        "nan": int(nans[~lost].sum()),
        "codes": int((codes != rows["codes"]).sum()) if "codes" in rows else 0,
        "sum": float(np.abs(p.sum(1, dtype=np.float64) - 1).max()),
        "bytes": os.path.getsize(path),
        "rows_per_second": round(n / min(seconds)),
        "load": load,
        "versions": f"onnx {onnx.__version__}, onnxruntime {onnxruntime.__version__}",
    }))
