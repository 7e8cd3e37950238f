"""What the columns stand for: right values of the cases in shared/cases/meaning, or a refusal that says why."""
import pathlib
import warnings

import numpy as np
import pandas
import pytest

pytest.importorskip("sklearn", "1.6")
from sklearn.base import BaseEstimator, ClassifierMixin

import localcal
import localcal.metrics
from localcal.classes import classes_of

CASES = pathlib.Path(__file__).resolve().parents[4] / "shared" / "cases" / "meaning"


def case(name):
    if not CASES.is_dir():
        pytest.skip("the cases are not there")
    return np.load(CASES / name)


class Fitted(ClassifierMixin, BaseEstimator):
    """A fitted model that says p of the rows by their numbers."""

    def __init__(self, p, classes):
        self.p, self.classes_ = p, classes

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict_proba(self, X):
        return self.p[np.asarray(X)[:, 0].astype(int)]


def test_digits_as_text():
    f = case("digits-as-text.npz")
    assert localcal.metrics.nll(f["y"], f["p"]) == pytest.approx(2.301692, abs=1e-5)
    assert localcal.metrics.classwise_ece(f["y"], f["p"]) == pytest.approx(0.0611, abs=1e-4)
    assert localcal.Calibrator("ts").fit(f["p"], f["y"]).classes_.tolist() == f["classes"].tolist()
    numbers = np.argsort(f["classes"].astype(int))
    with pytest.warns(localcal.CalibraWarning, match="order of the numbers"):  # the columns as numbers ascend
        assert localcal.metrics.nll(f["y"], f["p"][:, numbers]) == pytest.approx(2.301692, abs=1e-5)


def test_a_frame_of_classes():
    f = case("frame-of-classes.npz")
    frame = pandas.DataFrame(f["p"], columns=f["columns"])
    assert localcal.metrics.nll(f["y"], frame) == pytest.approx(0.989164, abs=1e-5)
    assert localcal.Calibrator("ts").fit(frame[:250], f["y"][:250]).score(frame[250:], f["y"][250:]) == pytest.approx(0.704)
    with pytest.raises(localcal.InputError, match=r"another order than the alphabet: \['low', 'mid', 'high'\]; hand over classes="):
        localcal.metrics.nll(f["y"], f["p"])
    assert localcal.metrics.nll(f["y"], f["p"], classes=f["columns"]) == pytest.approx(0.989164, abs=1e-5)
    assert localcal.Calibrator("ts").fit(f["p"], f["y"], classes=f["columns"]).classes_.tolist() == ["low", "mid", "high"]
    for ordered in (False, True):  # the levels of a category
        y = pandas.Series(pandas.Categorical(f["y"], categories=f["columns"], ordered=ordered))
        assert localcal.metrics.nll(y, f["p"]) == pytest.approx(0.989164, abs=1e-5)


def test_a_fitted_model_with_classes_in_an_order_of_its_own():
    f, rows = case("prefit-classes.npz"), np.arange(600)[:, None]
    model = localcal.CalibratedClassifier(Fitted(f["p"], f["classes"]), method="ts", cv="prefit").fit(rows[:300], f["y"][:300])
    p = model.predict_proba(rows[300:])
    y = np.array([f["classes"].tolist().index(value) for value in f["y"][300:]])
    assert -np.log(p[np.arange(300), y]).mean() == pytest.approx(0.726045, abs=1e-4)


@pytest.mark.parametrize("labels, classes, wrong", [("text", "classes", "'kiwi' at row 0"), ("number", None, "-1 at row 0")])
def test_labels_that_the_fitted_model_does_not_know(labels, classes, wrong):
    f = case("prefit-unknown-labels.npz")
    model = Fitted(f["p"], f[classes] if classes else np.arange(3))
    with pytest.raises(localcal.InputError, match=wrong):
        localcal.CalibratedClassifier(model, method="ts", cv="prefit").fit(np.arange(600)[:300, None], f[labels][:300])


def test_two_names_exchanged():
    f = case("names-two-exchanged.npz")
    with pytest.raises(localcal.InputError, match="'alba', 'iris', 'setosa', 'lutea'"):
        localcal.Calibrator("ts").fit(f["cal_logits"], f["cal_labels"])


def problem(rng, n=600, classes=4):
    """Logits and labels of classes 0…C−1."""
    y = rng.integers(classes, size=n)
    return 2 * np.eye(classes)[y] + rng.normal(size=(n, classes)), y


def test_unknown_labels_are_refused_with_their_row():
    s, y = problem(np.random.default_rng(1))
    for value, row in ((-1, 3), (4, 5), (1.5, 7), (np.nan, 9), (None, 2)):
        wrong = y.astype(object if value is None else type(value)).copy()
        wrong[row] = value
        with pytest.raises(localcal.InputError, match=f"at row {row}"):
            localcal.Calibrator("ts").fit(s, wrong)


def test_labels_from_one():
    s, y = problem(np.random.default_rng(1))
    assert classes_of(y + 1, s).tolist() == [1, 2, 3, 4]
    some = y < 3
    with pytest.warns(localcal.CalibraWarning, match="1…4"):
        assert classes_of(y[some] + 1, s[some]).tolist() == [1, 2, 3, 4]  # the last class has no row
    assert classes_of(y[y > 0], s[y > 0]).tolist() == [0, 1, 2, 3] and len(classes_of(y[y > 1], s[y > 1])) == 4


def test_columns_permuted():
    """Names put any order right; without them another order than the alphabet is refused, put right or asked for."""
    rng, told = np.random.default_rng(2), {"asked": 0, "straight": 0}
    for _ in range(60):
        classes = int(rng.integers(2, 11))
        s, y = problem(rng, int(rng.integers(100, 1000)), classes)
        names = np.array([f"class {k}" for k in range(classes)])
        order = rng.permutation(classes)
        frame = pandas.DataFrame(s[:, order], columns=names[order])
        assert classes_of(names[y], s[:, order], names=list(frame.columns)).tolist() == names[order].tolist()
        for columns in (np.arange(classes), order):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    assert classes_of(names[y], s[:, columns]).tolist() == names[columns].tolist()
                    told["straight"] += columns is not order
                except localcal.InputError as refused:
                    told["asked"] += columns is not order
                    assert "hand over classes=" in str(refused)
    assert told["straight"] == 60 and told["asked"] == 0
