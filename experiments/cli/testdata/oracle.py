"""What saved models must answer, in float64 and by numpy alone; ts, dc and ir are fitted anew by scipy and scikit-learn.

    python oracle.py MODEL FEATURES.npz PREDICTIONS.npz NETWORK.onnx [MODEL ...]

MODEL is the folder of a fit of vq, vq-dc, ts, dc or ir, PREDICTIONS what apply says of the test rows. Prints a line of JSON for each
four: the largest difference of a probability between the oracle and apply (apply), the network (network) and, where there is one, the
new fit (refit); the difference of the NLL of the calibration rows of both fits (loss); and how many codes of the network are not
the nearest codeword (codes), by more than a part in 1e5 of the squared distance, which float32 rounds.
"""
import json
import math
import os
import struct
import sys

import numpy as np


def model(folder):
    """the metadata and the arrays of a .safetensors file: eight bytes of length, a header in JSON, the numbers"""
    raw = open(os.path.join(folder, "model.safetensors"), "rb").read()
    (length,) = struct.unpack("<Q", raw[:8])
    head, body = json.loads(raw[8 : 8 + length]), raw[8 + length :]
    meta, types = head.pop("__metadata__"), {"F64": "<f8", "F32": "<f4"}
    arrays = {}
    for name, a in head.items():
        first, last = a["data_offsets"]
        arrays[name] = np.frombuffer(body[first:last], types[a["dtype"]]).reshape(a["shape"]).astype(np.float64)
    return meta, json.loads(meta["config"]), arrays


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


log_gamma = np.vectorize(math.lgamma)


def squared_distances(w, slots, z):
    """N×slots×K, by differences of the centred features"""
    x = z.astype(np.float64)
    if "codebook/centre" in w:
        x = x - np.resize(w["codebook/centre"].ravel(), x.shape[1])
    x = x.reshape(len(x), slots, 1, -1)
    return ((x - w["codebook/codewords"]) ** 2).sum(-1)


def head(w, codes):
    """log p̂ of the quantized features, at least log 1e-8 as the paper has it"""
    quantized = w["codebook/codewords"][codes].reshape(len(codes), -1)
    return np.maximum(log_softmax(quantized @ w["head/weight"] + w["head/bias"]), math.log(1e-8))


def vq(w, lp, codes):
    """log π − log B(α_j) + Σ_i (α_ij − 1 + 1[i = j]) log p̂_i with α = softplus(Σ_slots receiver ⊗ sender) + 1e-6"""
    receiver, sender = w["bilinear/receiver"][codes], w["bilinear/sender"][codes]
    alpha = np.logaddexp(0, np.einsum("nki,nkj->nij", receiver, sender)) + 1e-6
    log_beta = log_gamma(alpha).sum(1) - log_gamma(alpha.sum(1))
    exponents = alpha - 1 + np.eye(alpha.shape[1])
    return log_softmax(log_softmax(w["bilinear/prior"]) - log_beta + np.einsum("nij,ni->nj", exponents, lp))


def dirichlet(w, lp):
    return log_softmax(lp @ w["dirichlet/weight"] + w["dirichlet/bias"])


def isotonic(w, p):
    """each class on the line through its thresholds, then divided by the sum"""
    ends = np.cumsum(w["isotonic/counts"]).astype(int)
    q = np.stack([np.interp(p[:, k], w["isotonic/x"][a:b], w["isotonic/y"][a:b]) for k, (a, b) in enumerate(zip(np.r_[0, ends], ends))], 1)
    s = q.sum(1, keepdims=True)
    return np.where(s > 0, q / np.where(s > 0, s, 1), 1 / q.shape[1])


def nll(p, y):
    return -np.log(np.maximum(p[np.arange(len(y)), y], 1e-12)).mean()


def refit(method, logits, y, test):
    """probabilities of the calibration and the test rows by a new fit"""
    lp, lt = log_softmax(logits), log_softmax(test)
    if method == "ts":
        from scipy.optimize import minimize_scalar
        b = math.exp(minimize_scalar(lambda u: nll(np.exp(log_softmax(math.exp(u) * lp)), y), bounds=(-8, 5), method="bounded", options=dict(xatol=1e-12)).x)
        return np.exp(log_softmax(b * lp)), np.exp(log_softmax(b * lt))
    if method == "ir":
        from sklearn.isotonic import IsotonicRegression
        fits = [IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(np.exp(lp)[:, k], y == k) for k in range(lp.shape[1])]
        def of(l):
            q = np.stack([f.predict(np.exp(l)[:, k]) for k, f in enumerate(fits)], 1)
            s = q.sum(1, keepdims=True)
            return np.where(s > 0, q / np.where(s > 0, s, 1), 1 / q.shape[1])
        return of(lp), of(lt)
    # dc: logistic regression on ℓ = log(p̂ + 1e-12), whitened so that it converges
    from scipy.optimize import minimize
    ell = lambda l: np.log(np.exp(l) + 1e-12)
    x, mean = ell(lp), ell(lp).mean(0)
    value, vector = np.linalg.eigh(np.cov((x - mean).T))
    white = lambda l: np.c_[(ell(l) - mean) @ (vector / np.sqrt(np.maximum(value, 1e-12))), np.ones(len(l))]
    a, n, c = white(lp), len(y), lp.shape[1]
    hit = np.eye(c)[y]
    def loss(theta):
        l = log_softmax(a @ theta.reshape(-1, c))
        return -(hit * l).sum() / n, (a.T @ (np.exp(l) - hit) / n).ravel()
    theta = minimize(loss, np.zeros(a.shape[1] * c), jac=True, method="L-BFGS-B", options=dict(maxiter=20000, maxfun=40000, ftol=1e-16, gtol=1e-10)).x.reshape(-1, c)
    return np.exp(log_softmax(a @ theta)), np.exp(log_softmax(white(lt) @ theta))


def judge(folder, rows, predictions, network):
    import onnxruntime
    meta, config, w = model(folder)
    method, f, said = meta["method"], np.load(rows), np.load(predictions)["probs"]
    z, logits, y = f["test_features"], f["test_logits"].astype(np.float64), f["cal_labels"].astype(int)
    out, names, nearest = {}, ["probabilities"], None
    def probabilities(logits):
        if method == "ts":
            return np.exp(log_softmax(math.exp(-w["temperature/log"][0]) * log_softmax(logits)))
        if method == "ir":
            return isotonic(w, np.exp(log_softmax(logits)))
        return np.exp(dirichlet(w, np.log(np.exp(log_softmax(logits)) + 1e-12)))
    if method in ("vq", "vq-dc"):
        d = squared_distances(w, config["slots"], z)
        nearest = d.argmin(-1)
        lp = head(w, nearest)
        right = np.exp(vq(w, lp, nearest) if method == "vq" else dirichlet(w, lp))
        names.append("codes")
    else:
        right = probabilities(logits)
        cal = f["cal_logits"].astype(np.float64)
        again, test = refit(method, cal, y, logits)
        out.update(refit=float(np.abs(test - said).max()), loss=float(nll(probabilities(cal), y) - nll(again, y)))
    session = onnxruntime.InferenceSession(network)
    inputs = {i.name: {"features": z, "logits": logits}[i.name].astype(np.float32) for i in session.get_inputs()}
    answers = session.run(names, inputs)
    out.update(apply=float(np.abs(said - right).max()), network=float(np.abs(answers[0] - right).max()), rows=len(said))
    if nearest is not None:
        codes = answers[1].reshape(nearest.shape).astype(int)
        least = np.take_along_axis(d, nearest[..., None], -1)
        out["codes"] = int((np.take_along_axis(d, codes[..., None], -1) > least * (1 + 1e-5)).sum())
    print(json.dumps(out))


if __name__ == "__main__":
    for k in range(1, len(sys.argv), 4):
        judge(*sys.argv[k : k + 4])
