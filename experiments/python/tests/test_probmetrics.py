"""Methods of calibra in probmetrics, beside its own on the same rows."""
import json

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("probmetrics", reason="probmetrics is not installed")
from probmetrics.calibrators import MixtureCalibrator, SMSCalibrator, TemperatureScalingCalibrator
from probmetrics.distributions import CategoricalProbs
from probmetrics.metrics import Metrics
from sklearn.base import clone

import localcal.integrations.probmetrics
from localcal.integrations.probmetrics import Calibrated
from test_calibra import rows


def probabilities(seed, classes):
    logits, y, _ = rows(seed, n=2000, classes=classes)
    p = np.exp(logits - logits.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True), y


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("ours, theirs, apart, loss", [("ts", TemperatureScalingCalibrator, 2e-8, 1e-8), ("sm", SMSCalibrator, 3e-3, 2e-5)])
def test_the_same_method_says_the_same(ours, theirs, apart, loss, classes):
    """Temperatures agree as far as its bisection of 30 steps goes, 6e-9; its matrix scaling stops at 1e-5, 1.4e-3 from our minimum."""
    (p, y), (other, truth) = probabilities(0, classes), probabilities(1, classes)
    a = Calibrated(ours).fit(p, y).predict_proba(other)
    b = theirs().fit(p, y).predict_proba(other)
    assert np.abs(a - b).max() < apart
    of = Metrics.from_names(["logloss", "brier", "ece-15", "accuracy"]).compute_all_from_labels_probs
    mine, raw = (of(torch.tensor(truth), torch.tensor(said)) for said in (a, other))
    assert abs(mine["logloss"] - of(torch.tensor(truth), torch.tensor(b))["logloss"]) < loss and mine["logloss"] < raw["logloss"]
    assert abs(mine["logloss"].item() - localcal.metrics.nll(truth, a)) < 1e-6 and abs(mine["brier"].item() - localcal.metrics.brier(truth, a)) < 1e-6


def test_it_is_a_calibrator_of_probmetrics():
    p, y = probabilities(0, 4)
    one = clone(Calibrated("vector", settings={"vector.strength": 0.1})).fit(p, y)
    said = one.predict_proba(p)
    by_torch = clone(one).fit_torch(CategoricalProbs(torch.tensor(p)), torch.tensor(y))
    assert np.allclose(by_torch.predict_proba_torch(CategoricalProbs(torch.tensor(p))).get_probs().numpy(), said)
    assert np.array_equal(one.predict(p), said.argmax(1))
    mixed = MixtureCalibrator(Calibrated("ts")).fit(p, y).predict_proba(p)
    assert mixed.shape == p.shape and np.allclose(mixed.sum(1), 1)


def test_the_improvements_of_compare_are_calarenas(tmp_path):
    """Its compute_absolute_improvements takes what a method scores off what the classifier scores, by probmetrics, times 100.

    Of labels that are given probability 0, the two count another floor.
    """
    (p, y), (other, truth) = probabilities(0, 4), probabilities(1, 4)
    np.savez(tmp_path / "rows.npz", cal_logits=np.log(p), cal_labels=y, test_logits=np.log(other), test_labels=truth)
    said = json.loads(localcal.run("compare", "--in", tmp_path / "rows.npz", "--methods", "nc,ts,sm", "--seeds", "0", "--out", tmp_path / "out", "--json"))
    of = Metrics.from_names(["logloss", "brier"]).compute_all_from_labels_probs
    before = of(torch.tensor(truth), torch.tensor(other))
    for line in said["methods"]:
        after = of(torch.tensor(truth), torch.tensor(Calibrated(line["method"]).fit(p, y).predict_proba(other))) if line["method"] != "nc" else before
        for ours, theirs in (("phi_nll", "logloss"), ("phi_brier", "brier")):
            assert abs(line[ours] - (before[theirs] - after[theirs]).item()) < 1e-9, (line["method"], ours)


def test_calarena_takes_them():
    """Its runner calls fit(p, y) and predict_proba(p) of what a factory makes; binary problems have one column too."""
    factories = localcal.integrations.probmetrics.CUSTOM_CALIBRATORS
    assert {"calibra ts", "calibra sm", "calibra ir", "calibra venn-abers"} <= set(factories) and "calibra vq" not in factories
    for name in ("calibra ts", "calibra ir"):
        one, two = factories[name](), factories[name]()
        assert one is not two
        p, y = probabilities(0, 4)
        assert one.fit(p, y).predict_proba(p).shape == (2000, 4)
        p, y = probabilities(0, 2)
        assert np.abs(two.fit(p[:, 1], y).predict_proba(p[:, 1]) - factories[name]().fit(p, y).predict_proba(p)).max() < 1e-9
