"""The metrics in numpy are the command's, and go into scikit-learn's scorers."""
import numpy as np
import pytest

import calibra
from calibra import metrics
from test_calibra import TEST

INSIDE = ("nll", "brier", "ece", "ece_top", "mce", "ecce")


def softmax(z):
    p = np.exp(z - z.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


def problems():
    """Probabilities that are rough, sharp, on the edges of bins, of many classes, of two, of none."""
    rng = np.random.default_rng(0)
    p, y = softmax(TEST[0]), TEST[1]
    yield "plain", p, y, None
    yield "weights", p, y, np.where(np.arange(600) % 7 == 0, 0, np.linspace(0.1, 3, 600))
    yield "soft", p, 0.7 * np.eye(4)[y] + 0.075, None
    yield "sharp", softmax(30 * TEST[0]), y, None
    yield "zeros", np.eye(4)[(y + (np.arange(600) % 9 == 0)) % 4], y, None
    edges = rng.integers(0, 4, (600, 3))
    edges[:, 2] += 1
    yield "edges", edges / edges.sum(1, keepdims=True), rng.integers(0, 3, 600), None
    yield "fifteenths", np.stack([(k := rng.integers(0, 16, 600)) / 15, 1 - k / 15], 1), rng.integers(0, 2, 600), None
    yield "many classes", softmax(rng.normal(size=(500, 120))), rng.integers(0, 120, 500), None
    yield "one value", rng.random(500), rng.integers(0, 2, 500), None
    yield "float32", p.astype(np.float32), y, None


@pytest.mark.parametrize("name, p, y, weight", problems(), ids=lambda value: value if isinstance(value, str) else "")
def test_numpy_says_what_the_command_says(name, p, y, weight):
    said = calibra.evaluate(p, y, sample_weight=weight, replicates=0, redraws=0, folds=0)
    for metric in INSIDE:
        assert abs(getattr(metrics, metric)(y, p, sample_weight=weight) - said[metric].value) < 1e-9, metric


def test_local_metrics_and_floors_are_the_commands():
    p, (_, y, features) = softmax(TEST[0]), TEST
    said = calibra.evaluate(p, y, features)
    assert metrics.lce(y, p, features) == said["lce"].value and metrics.mlce(y, p, features) == said["mlce"].value
    floor = calibra.evaluate(p, y, replicates=0)["ece"].floor
    assert metrics.noise("ece", y, p) == floor
    assert abs(metrics.ece(y, p, excess=True) - floor.excess) < 1e-9
    for call, sentence in (
        (lambda: metrics.noise("lce", y, p), "hand them over"),
        (lambda: metrics.noise("nosuch", y, p), "no metric of calibra evaluate"),
        (lambda: metrics.nll(y, TEST[0]), "sum to 1"),
        (lambda: metrics.nll(y[:5], p), "5 rows"),
        (lambda: metrics.nll(y * 0 + 9, p), "whole numbers in 0…3"),
        (lambda: metrics.nll(y, p, sample_weight=np.zeros(600)), "not all 0"),
    ):
        with pytest.raises(calibra.InputError, match=sentence):
            call()


def test_multicalibration_is_the_commands():
    p, (_, y, _) = softmax(TEST[0]), TEST
    groups, weight = np.array(["left", "right", "far"])[np.arange(600) % 3], np.linspace(0.1, 3, 600)
    said = calibra.evaluate(p, y, groups=groups, sample_weight=weight, replicates=0, redraws=0, folds=0).report["multicalibration"]
    assert metrics.multicalibration_error(y, p, groups, sample_weight=weight) == said["error"]
    # The definition, of probabilities without ties: the segment and class with the greatest ECCE/σ, in units of σ of all rows
    w, sigma, widest = weight / weight.sum(), {}, (0.0, 0)
    for c in range(4):
        sigma[c] = np.sqrt((w**2 * p[:, c] * (1 - p[:, c])).sum())
        for rows in (np.arange(600), *(np.flatnonzero(groups == g) for g in set(groups))):
            rows = rows[np.argsort(p[rows, c])]
            v = w[rows] / w[rows].sum()
            walk = np.concatenate([[0], np.cumsum(v * ((y[rows] == c) - p[rows, c]))])
            widest = max(widest, (np.ptp(walk) / np.sqrt((v**2 * p[rows, c] * (1 - p[rows, c])).sum()), c))
    assert said["error"] == pytest.approx(widest[0] * sigma[widest[1]], abs=1e-9)
    with pytest.raises(calibra.InputError, match="hand them over"):
        metrics.multicalibration_error(y, p, None)


def test_names_of_classes():
    p, y = softmax(TEST[0]), TEST[1]
    names = np.array(["dog", "ant", "cat", "bee"])  # of the columns
    few = y < 2
    assert metrics.nll(names[y][few], p[few], labels=names) == metrics.nll(y[few], p[few])


def test_scorers():
    sklearn = pytest.importorskip("sklearn", "1.6")
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss, make_scorer
    from sklearn.model_selection import cross_validate
    from sklearn.preprocessing import StandardScaler

    x, y = load_breast_cancer(return_X_y=True)
    x = StandardScaler().fit_transform(x)
    scoring = {name: make_scorer(getattr(metrics, name), response_method="predict_proba", greater_is_better=False) for name in INSIDE}
    found = cross_validate(LogisticRegression(), x, y, scoring=scoring | {"log": "neg_log_loss"}, error_score="raise")
    assert np.allclose(found["test_nll"], found["test_log"], atol=1e-9)
    assert log_loss(TEST[1], softmax(TEST[0])) == pytest.approx(metrics.nll(TEST[1], softmax(TEST[0])), abs=1e-9)
    with sklearn.config_context(enable_metadata_routing=True):
        local = make_scorer(metrics.lce, response_method="predict_proba", greater_is_better=False).set_score_request(features=True)
        found = cross_validate(calibra.Calibrator("ts").set_fit_request(features=True), TEST[0], TEST[1], scoring=local, params={"features": TEST[2]}, error_score="raise", cv=3)
    assert np.all(found["test_score"] < 0)
