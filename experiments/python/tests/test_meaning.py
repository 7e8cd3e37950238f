"""What rows mean: tensors, groups, scores of decision_function, and what is refused in words of Python."""
import datetime
import decimal
import types
import warnings

import numpy as np
import pytest

import localcal
from localcal.command import array
from localcal.spoken import spoken
from test_calibra import rows

LOGITS, Y, FEATURES = rows(1, 300)


class Tensor:
    """A stand-in for a tensor of torch that numpy cannot read as it is."""

    def __init__(self, values, dtype="torch.bfloat16", grad=True):
        self.values, self.dtype, self.grad, self.shape = values, dtype, grad, values.shape

    def detach(self):
        return Tensor(self.values, self.dtype, False)

    def cpu(self):
        return self

    def float(self):
        return Tensor(self.values.astype(np.float32), "torch.float32", self.grad)

    def __array__(self, dtype=None, copy=None):
        if self.grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self.dtype == "torch.bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return np.asarray(self.values, dtype)


def weights(model):
    return model.run_["model.safetensors"]


@pytest.mark.parametrize("dtype", ["torch.bfloat16", "torch.float32"])
def test_tensors_are_read(dtype):
    single = LOGITS.astype(np.float32)
    expected = localcal.Calibrator("ts").fit(single, Y)
    model = localcal.Calibrator("ts").fit(Tensor(single, dtype), Tensor(Y, "torch.int64", False))
    assert weights(model) == weights(expected)
    assert np.array_equal(model.predict_proba(Tensor(single, dtype)), expected.predict_proba(single))
    p = expected.predict_proba(single).astype(np.float32)
    said = [localcal.evaluate(values, Y, folds=0, redraws=0, replicates=0)["nll"].value for values in (p, Tensor(p, dtype))]
    assert said[0] == said[1] and localcal.metrics.nll(Y, Tensor(p, dtype)) == localcal.metrics.nll(Y, p)


def test_bfloat16_of_jax():
    kinds = pytest.importorskip("ml_dtypes")
    rounded = LOGITS.astype(kinds.bfloat16)
    assert weights(localcal.Calibrator("ts").fit(rounded, Y)) == weights(localcal.Calibrator("ts").fit(rounded.astype(np.float32), Y))


def test_unknown_names_are_type_errors():
    with pytest.raises(TypeError, match="unexpected keyword argument 'sed'.*seed"):
        localcal.Calibrator("ts", sed=3)
    assert localcal.Calibrator("vq", codebook__slots=4).get_params()["codebook__slots"] == 4


@pytest.mark.parametrize("day", [
    lambda k: np.datetime64("2025-03-01") + k, lambda k: datetime.date(2025, 3, 1 + k), lambda k: decimal.Decimal("0.50") + k, lambda k: k + 0.5, lambda k: k == 1,
    lambda k: np.datetime64("2025-03-01T12:00:00.5") + np.timedelta64(k, "s"),
])
def test_groups_of_other_types(day):
    p, kinds = np.full((300, 4), 1 / 4), np.arange(300) % 3
    told = localcal.evaluate(p, Y, groups=np.array([day(k) for k in kinds]), folds=0, redraws=0, replicates=0).report["groups"]
    expected = localcal.evaluate(p, Y, groups=np.array([str(day(k)) for k in kinds]), folds=0, redraws=0, replicates=0).report["groups"]
    assert [g["nll"] for g in told] == [g["nll"] for g in expected] and len(told) > 1
    assert [g["name"].lower() for g in told] == [g["name"].lower().replace("12:00:00.500", "12:00:00.5").replace(".500", ".5") for g in expected]


def test_sets_need_no_features():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sets = localcal.Calibrator("ts").fit(LOGITS[:150], Y[:150]).predict_sets(LOGITS[150:], held_out=(LOGITS[150:], Y[150:]), level=0.9)
    # the scores are those of these rows, so that ⌈151·0.9⌉ of 150 are inside, but for sets that hold their top class alone
    assert sets[np.arange(150), Y[150:]].mean() >= 136 / 150


@pytest.mark.parametrize("shape, words", [((4, 3, 2, 2), "moveaxis"), ((4, 5, 3), r"reshape\(-1, C\)")])
def test_more_axes_are_refused(shape, words):
    with pytest.raises(localcal.InputError, match=words):
        localcal.Calibrator("ts").fit(np.zeros(shape), np.zeros(4, int))


def test_several_outputs_are_refused():
    for labels, words in (({"a": Y, "b": Y}, "label_ids is a dict of a, b"), ((Y, Y), "label_ids holds 2 arrays, of several outputs")):
        with pytest.raises(localcal.InputError, match=words):
            localcal.Calibrator("ts").fit(types.SimpleNamespace(predictions=LOGITS, label_ids=labels))


def test_ignored_labels_are_refused():
    for ignored in (-100, 255):
        with pytest.raises(localcal.InputError, match=f"{ignored} at row 7"):
            localcal.Calibrator("ts").fit(LOGITS, np.where(np.arange(300) == 7, ignored, Y))


def test_messages_are_of_python():
    with pytest.raises(localcal.InputError) as refused:
        localcal.Calibrator("ts").fit(np.where(np.arange(300)[:, None] == 5, np.nan, LOGITS), Y)
    assert "npz" not in str(refused.value) and "cal_" not in str(refused.value) and "logits" in str(refused.value)
    assert spoken("rows.npz: test_logits holds logits (--logits if these are logits)") == 'logits holds logits (scores="logits" if these are logits)'


def test_decision_values_are_scores():
    base = pytest.importorskip("sklearn.base")

    class Decider(base.ClassifierMixin, base.BaseEstimator):
        """A fitted classifier of two classes whose decision values all lie in 0…1."""

        classes_ = np.array([0, 1])

        def fit(self, X, y):
            raise AssertionError("it is fitted")

        def __sklearn_is_fitted__(self):
            return True

        def decision_function(self, X):
            return np.asarray(X)[:, 0]

    rng = np.random.default_rng(0)
    m = rng.random(600)
    y = (rng.random(600) < 1 / (1 + np.exp(3 - 7 * m))).astype(int)
    model = localcal.CalibratedClassifier(Decider(), method="vector", cv="prefit").fit(m[:, None], y)
    p = model.predict_proba(m[:, None])[:, 1]
    # vector is a logistic regression on the decision value: its mean probability is the share of the class
    assert abs(p.mean() - y.mean()) < 1e-6
    assert np.array_equal(model.predict_proba(m[:1, None]), model.predict_proba(m[:, None])[:1])
    ts = localcal.CalibratedClassifier(Decider(), method="ts", cv="prefit").fit(m[:, None], y)
    assert ts.predict_proba(m[:, None])[:, 1].min() >= 0.5  # the logit of class 1 is m ≥ 0


@pytest.mark.parametrize("method", ["ir", "histogram", "ts"])
def test_no_fold_kills_a_class(method):
    pytest.importorskip("sklearn")
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).round(1)
    y = np.where(X[:, 1] > 0.5, 2, (X[:, 0] + rng.normal(size=300) > 0).astype(int))  # class 2 stands apart
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = localcal.CalibratedClassifier(DecisionTreeClassifier(random_state=0), method=method, ensemble=True).fit(X, y)
        said = [one.predict_proba(X) for one in model.calibrated_classifiers_]
    p = model.predict_proba(X)
    assert np.isfinite(p).all() and np.allclose(p.sum(axis=1), 1, atol=1e-12)
    assert (p[np.max(said, axis=0) > 0.01] > 0).all()
    if method == "ir":
        assert (np.min(said, axis=0) == 0).any() and np.allclose(p, np.mean(said, axis=0), atol=1e-12)


def test_arrays_have_no_tape():
    assert array(Tensor(LOGITS), "logits").dtype == np.float32
