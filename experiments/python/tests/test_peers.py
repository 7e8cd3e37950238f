"""The metrics are those of other libraries, where the definition is the same, on random problems: 1,000 with CALIBRA_CHECK=all."""
import os

import numpy as np
import pytest

from localcal import metrics

pytestmark = pytest.mark.filterwarnings("ignore")  # of the libraries, and of names that moved

WITHIN = 1e-7
SINGLE = 1e-6  # of torchmetrics and torch-uncertainty, which sum some hundred numbers in float32, each rounded by 3e-8
PROBLEMS = 1000 if os.environ.get("CALIBRA_CHECK") == "all" else 30


def problems(count, classes=range(2, 7)):
    """Labels and probabilities, of as many rows as are a multiple of 15 bins.

    None lies within 1e-5 of an edge of a bin: there a rounding counts as on it, and libraries count the edge to either side.
    """
    for seed in range(count):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=(300, rng.choice(classes))) * rng.uniform(0.3, 4)
        p = np.exp(z - z.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        y = (np.cumsum(p**0.7 / (p**0.7).sum(1, keepdims=True), 1) < rng.random((300, 1))).sum(1).clip(max=p.shape[1] - 1)
        rows = np.flatnonzero((np.abs(15 * p - np.round(15 * p)) > 1.5e-4).all(axis=1))
        rows = rows[: len(rows) // 15 * 15]
        yield y[rows], p[rows]


def holds(theirs, within=WITHIN, **which):
    """Each metric of these names here is theirs."""
    most = dict.fromkeys(theirs, 0.0)
    for y, p in problems(PROBLEMS, **which):
        for name, function in theirs.items():
            ours = getattr(metrics, name)(y, p, classes=np.arange(p.shape[1]))
            most[name] = max(most[name], abs(ours - float(function(y, p))))
    assert max(most.values()) <= within, most


def test_netcal():
    netcal = pytest.importorskip("netcal.metrics", reason="netcal is not installed")

    def classwise(y, p):
        return np.mean([netcal.ECE(15).measure(p[:, k], (y == k).astype(int)) for k in range(p.shape[1])])

    three = range(3, 7)  # of two classes netcal measures the second
    holds({"ece": lambda y, p: netcal.ECE(15).measure(p, y), "mce": lambda y, p: netcal.MCE(15).measure(p, y)}, classes=three)
    holds({"classwise_ece": classwise})


def of_probmetrics(name):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    known = pytest.importorskip("probmetrics.metrics", reason="probmetrics is not installed")
    one = known.Metrics.from_names([name])
    return lambda y, p: one.compute_all_from_labels_probs(torch.tensor(y), torch.tensor(p))[name]


def test_probmetrics():
    holds({"nll": of_probmetrics("logloss"), "brier": of_probmetrics("brier")})
    bins = {"ece": of_probmetrics("ece-15"), "rmsce": of_probmetrics("rmsce-15"), "mce": of_probmetrics("mce-15")}
    holds(bins, SINGLE, classes=range(3, 7))  # of two classes it measures the second


def test_relplot():
    relplot = pytest.importorskip("relplot", reason="relplot is not installed")
    holds({"smece": lambda y, p: relplot.smECE(f=p.max(1), y=(p.argmax(1) == y).astype(float))})


def test_torch_uncertainty():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    known = pytest.importorskip("torch_uncertainty.metrics", reason="torch-uncertainty is not installed")

    def of(name, **more):
        def measured(y, p):
            asked = {"task": "multiclass", "num_classes": p.shape[1], "num_bins": 15, **more} if "Error" in name else {"num_classes": p.shape[1]}
            one = getattr(known, name)(**({} if name == "CategoricalNLL" else asked))
            one.update(torch.tensor(p), torch.tensor(y))
            return one.compute()
        return measured

    holds({"nll": of("CategoricalNLL"), "brier": of("BrierScore")}, SINGLE)
    bins = {"ece": of("CalibrationError"), "rmsce": of("CalibrationError", norm="l2"), "mce": of("CalibrationError", norm="max")}
    holds(bins, SINGLE, classes=range(3, 7))
    holds({"adaptive_ece": of("AdaptiveCalibrationError")}, SINGLE, classes=range(3, 7))


def test_mapie():
    """Its bins lie between so many points; those of equal width alone are bins of other libraries."""
    known = pytest.importorskip("mapie.metrics.calibration", reason="MAPIE is not installed")
    holds({"ece": lambda y, p: known.expected_calibration_error((p.argmax(1) == y).astype(int), p.max(1), num_bins=16, split_strategy="uniform")})
