"""Writes peers.json: what other libraries say of one small problem.

    pip install numpy scikit-learn netcal betacal probmetrics venn-abers torch relplot
    # dirichletcal 0.5.3's setup.py is malformed; unpack its archive onto PYTHONPATH
    python peers.py > peers.json

parity_test.go holds this repository's methods to it.
"""
import importlib.metadata as metadata
import json
import sys

import numpy as np

rng = np.random.default_rng(20261122)
C, N, T = 4, 600, 150
M = rng.normal(size=(6, C)) * 0.9


def draw(n):
    x = rng.normal(size=(n, 6))
    truth = x @ M
    p = np.exp(truth - truth.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    y = np.array([rng.choice(C, p=row) for row in p])
    logits = 1.8 * truth + np.array([0.4, -0.2, 0.0, -0.3]) + 0.3 * rng.normal(size=truth.shape)
    return np.round(logits, 6), y


def softmax(z):
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


# betacal's logistic regression stops early. It is run as it is and, under "converged",
# with tolerances that leave the optimum alone.
def tight(f):
    def run():
        import betacal.beta_calibration as b
        regression = b.LogisticRegression
        b.LogisticRegression = lambda **k: regression(**{**k, "tol": 1e-13, "max_iter": 100000, "C": 1e12})
        try:
            return f()
        finally:
            b.LogisticRegression = regression
    return run


cal, y = draw(N)
test, t = draw(T)
p, q = softmax(cal), softmax(test)
out, versions = {}, {}


def of(key, package, f):
    try:
        out[key] = np.asarray(f(), dtype=float).tolist()
        versions[package] = metadata.version(package)
    except Exception as e:  # reported, and the test fails on the missing key
        print(key, type(e).__name__, str(e)[:300], file=sys.stderr)


def normalized(columns):
    s = np.stack(columns, 1)
    return s / s.sum(1, keepdims=True)


def sklearn_isotonic():
    from sklearn.isotonic import IsotonicRegression
    return normalized([IsotonicRegression(out_of_bounds="clip").fit(p[:, k], y == k).predict(q[:, k]) for k in range(C)])


def sklearn_platt():
    from sklearn.linear_model import LogisticRegression
    return normalized([LogisticRegression(C=1, tol=1e-12, max_iter=100000).fit(p, y == k).predict_proba(q)[:, 1] for k in range(C)])


def sklearn_sigmoid():
    from sklearn.calibration import _SigmoidCalibration
    return normalized([_SigmoidCalibration().fit(p[:, k], y == k).predict(q[:, k]) for k in range(C)])


def beta():
    from betacal import BetaCalibration
    return normalized([BetaCalibration("abm").fit(p[:, k:k + 1], (y == k).astype(int)).predict(q[:, k:k + 1]) for k in range(C)])


def probmetrics(make, x, z):
    return make().fit(x, y).predict_proba(z)


def p_sms():
    from probmetrics.calibrators import SMSCalibrator
    return probmetrics(SMSCalibrator, p, q)


def p_svs():
    from probmetrics.calibrators import SVSCalibrator
    return probmetrics(SVSCalibrator, p, q)


def p_ts():
    from probmetrics.calibrators import TemperatureScalingCalibrator
    return probmetrics(TemperatureScalingCalibrator, p, q)


def p_vector():
    from probmetrics.calibrators import VectorScalingCalibrator
    return probmetrics(VectorScalingCalibrator, p, q)


def p_ets():
    from probmetrics.calibrators import ETSCalibrator
    return probmetrics(lambda: ETSCalibrator(loss="ce"), p, q)


def p_spline():
    from probmetrics.calibrators import CDFSplineCalibrator
    two = lambda x, k: np.stack([1 - x[:, k], x[:, k]], 1)
    return normalized([CDFSplineCalibrator().fit(two(p, k), (y == k).astype(int)).predict_proba(two(q, k))[:, 1].clip(0, 1) for k in range(C)])


def p_venn():
    from probmetrics.calibrators import VennAbersCalibrator
    return probmetrics(lambda: VennAbersCalibrator(use_ovo=False), p, q)


def binary_venn():  # p0 and p1 of the first class against the rest
    from venn_abers import VennAbers
    v = VennAbers()
    v.fit(p_cal=np.stack([1 - p[:, 0], p[:, 0]], 1), y_cal=(y == 0).astype(int), precision=None)
    return v.predict_proba(np.stack([1 - q[:, 0], q[:, 0]], 1))[1]


def dirichlet(**penalty):
    from dirichletcal import FullDirichletCalibrator
    d = FullDirichletCalibrator(**penalty)
    d.fit(p, y)
    return d.predict_proba(q)


def netcal_ts():
    from netcal.scaling import TemperatureScaling
    m = TemperatureScaling()
    m.fit(p, y)
    return m.transform(q)


def netcal_histogram():
    from netcal.binning import HistogramBinning
    m = HistogramBinning(bins=15)
    m.fit(p, y)
    return m.transform(q)


of("sklearn/isotonic", "scikit-learn", sklearn_isotonic)
of("sklearn/platt", "scikit-learn", sklearn_platt)
of("sklearn/sigmoid", "scikit-learn", sklearn_sigmoid)
of("betacal/beta", "betacal", beta)
of("probmetrics/sms", "probmetrics", p_sms)
of("betacal/beta converged", "betacal", tight(beta))
of("probmetrics/svs", "probmetrics", p_svs)
of("probmetrics/ts", "probmetrics", p_ts)
of("probmetrics/vector", "probmetrics", p_vector)
of("probmetrics/ets", "probmetrics", p_ets)
of("probmetrics/spline", "probmetrics", p_spline)
of("probmetrics/venn-abers", "probmetrics", p_venn)
of("venn-abers/p0p1", "venn-abers", binary_venn)
of("netcal/ts", "netcal", netcal_ts)
of("netcal/histogram", "netcal", netcal_histogram)
try:
    import dirichletcal
    versions["dirichletcal"] = "0.5.3"
    # reg_norm divides the penalties by the number of weights, as the paper does, and ref_row=False
    # leaves them on the weights themselves.
    for name, penalty in (("dirichlet", dict(reg_lambda=0.0, reg_mu=0.0)),
                          ("dirichlet-odir", dict(reg_lambda=0.1, reg_mu=0.1, reg_norm=True, ref_row=False))):
        try:
            out["dirichletcal/" + name] = np.asarray(dirichlet(**penalty), dtype=float).tolist()
        except Exception as e:
            print(name, type(e).__name__, str(e)[:300], file=sys.stderr)
except ImportError as e:
    print("dirichletcal", e, file=sys.stderr)

# Metrics of the uncalibrated test rows.
values = {}


def value(key, package, f):
    try:
        values[key] = float(f())
        versions[package] = metadata.version(package)
    except Exception as e:
        print(key, type(e).__name__, str(e)[:300], file=sys.stderr)


def netcal_ece():
    from netcal.metrics import ECE
    return ECE(15).measure(q, t)


def torchmetrics_ece():
    import torch
    from torchmetrics.functional.classification import multiclass_calibration_error
    return multiclass_calibration_error(torch.tensor(q), torch.tensor(t), num_classes=C, n_bins=15, norm="l1")


def smece():
    import relplot
    return relplot.smECE(f=q.max(1), y=(q.argmax(1) == t).astype(float))


def brier():
    from sklearn.metrics import brier_score_loss
    return ((q - np.eye(C)[t]) ** 2).sum(1).mean()


def nll():
    from sklearn.metrics import log_loss
    return log_loss(t, q, labels=range(C))


def metric(name):
    import torch
    from probmetrics.distributions import CategoricalProbs
    from probmetrics.metrics import Metrics
    m = Metrics.from_names([name])
    return m.compute_all_from_labels_probs(torch.tensor(t), torch.tensor(q))[name]


def netcal_classwise():
    from netcal.metrics import ECE
    return np.mean([ECE(15).measure(q[:, k], (t == k).astype(int)) for k in range(C)])


def torch_uncertainty(kind):
    import torch
    import torch_uncertainty.metrics as metrics
    m = {"ece": lambda: metrics.CalibrationError(task="multiclass", num_classes=C, num_bins=15),
         "brier": lambda: metrics.BrierScore(num_classes=C), "nll": metrics.CategoricalNLL}[kind]()
    m.update(torch.tensor(q), torch.tensor(t))
    return m.compute()


value("netcal/ece", "netcal", netcal_ece)
value("netcal/classwise-ece", "netcal", netcal_classwise)
for name in ("ece", "brier", "nll"):
    value("torch-uncertainty/" + name, "torch-uncertainty", lambda: torch_uncertainty(name))
value("torchmetrics/ece", "torchmetrics", torchmetrics_ece)
value("relplot/smece", "relplot", smece)
value("sklearn/brier", "scikit-learn", brier)
value("sklearn/nll", "scikit-learn", nll)
for name in ("logloss", "brier", "ece-15", "rmsce-15", "mce-15", "smece"):
    value("probmetrics/" + name, "probmetrics", lambda: metric(name))

json.dump({"versions": dict(sorted(versions.items())), "cal_logits": cal.tolist(), "cal_labels": y.tolist(),
           "test_logits": test.tolist(), "test_labels": t.tolist(), "probabilities": out, "values": values}, sys.stdout)
