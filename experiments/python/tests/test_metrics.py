"""The metrics in numpy are the command's, and go into scikit-learn's scorers."""
import numpy as np
import pytest

import localcal
from localcal import metrics
from test_calibra import TEST

INSIDE = {"nll": "nll", "brier": "brier", "ece": "ece_top", "classwise_ece": "ece", "classwise_mce": "mce", "ecce": "ecce"}  # and the command's keys

pytestmark = pytest.mark.filterwarnings("ignore:metrics:FutureWarning")


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
    said = localcal.evaluate(p, y, sample_weight=weight, replicates=0, redraws=0, folds=0)
    for metric, key in INSIDE.items():
        assert abs(getattr(metrics, metric)(y, p, sample_weight=weight) - said[key].value) < 1e-9, metric
    assert metrics.smece(y, p, sample_weight=weight) == said.report["smece_top"]["value"]
    assert metrics.rmsce(y, p, sample_weight=weight) >= metrics.ece(y, p, sample_weight=weight) - 1e-12
    if weight is None:
        for score in ("nll", "brier"):
            assert abs(metrics.losses(y, p, score=score).mean() - said[score].value) < 1e-9


def test_local_metrics_and_floors_are_the_commands():
    p, (_, y, features) = softmax(TEST[0]), TEST
    said = localcal.evaluate(p, y, features)
    assert metrics.lce(y, p, features) == said["lce"].value and metrics.mlce(y, p, features) == said["mlce"].value
    said = localcal.evaluate(p, y, replicates=0)
    for name, floor in {"ece": said["ece_top"].floor, "classwise_ece": said["ece"].floor, "smece": localcal.Floor(**said.report["smece_top"]["noise"])}.items():
        assert metrics.noise(name, y, p) == floor
        assert abs(getattr(metrics, name)(y, p, excess=True) - floor.excess) < 1e-9
    for call, sentence in (
        (lambda: metrics.noise("lce", y, p), "hand them over"),
        (lambda: metrics.noise("nosuch", y, p), "no metric of calibra evaluate"),
        (lambda: metrics.nll(y, TEST[0]), "sum to 1"),
        (lambda: metrics.nll(y[:5], p), "5 rows"),
        (lambda: metrics.nll(y * 0 + 9, p), "none of the classes 0…3"),
        (lambda: metrics.nll(y, p, sample_weight=np.zeros(600)), "not all 0"),
    ):
        with pytest.raises(localcal.InputError, match=sentence):
            call()


def test_every_scorer_is_the_commands_number():
    sklearn = pytest.importorskip("sklearn", "1.6")
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import make_scorer

    (x, y, features), groups = TEST, np.arange(600) % 3
    model = LogisticRegression().fit(x[:100], y[:100])
    said = localcal.evaluate(model.predict_proba(x), y, features, groups=groups, replicates=0)
    profile = said.report["ess_profile"]
    of = {"features": features}
    for name, fixed, given, right in (
        ("nll", {}, {}, said["nll"].value),
        ("brier", {}, {}, said["brier"].value),
        ("ece", {}, {}, said["ece_top"].value),
        ("classwise_ece", {"excess": True}, {}, localcal.evaluate(model.predict_proba(x), y, replicates=0)["ece"].floor.excess),
        ("lce", {}, of, said["lce"].value),
        ("mlce", {}, of, said["mlce"].value),
        ("ess", {}, of, np.average(profile["ess"], weights=profile["count"])),
        ("multicalibration_error", {}, {"groups": groups}, said.report["multicalibration"]["error"]),
    ):
        with sklearn.config_context(enable_metadata_routing=True):
            scorer = make_scorer(getattr(metrics, name), response_method="predict_proba", greater_is_better=False, **fixed)
            assert abs(scorer.set_score_request(**dict.fromkeys(given, True))(model, x, y, **given) + right) < 1e-9, name


def test_ess_is_that_of_the_neighbourhoods():
    p, (_, y, features) = softmax(TEST[0])[:150], (part[:150] for part in TEST)
    found = metrics.ess(y, p, features, bins=1, small_bin=0, bandwidth=4)
    # The definition, in one bin of all rows and standardized features; the command computes kernels in float32
    z = (features - features.mean(0)) / features.std(0)
    apart = ((z[:, None] - z[None]) ** 2).sum(2)
    k = np.exp(-apart / (2 * 4**2)) * (1 - np.eye(150))
    assert found == pytest.approx((k.sum(1) ** 2 / (k**2).sum(1)).mean(), rel=1e-6)
    with pytest.raises(localcal.InputError, match="hand them over"):
        metrics.ess(y, p, None)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("weigh", [False, True])
def test_the_decomposition_is_that_of_model_diagnostics(classes, weigh):
    """Its decompose is of one class: the Brier score of all is their sum, and the NLL of a class is that of it and the rest."""
    theirs = pytest.importorskip("model_diagnostics.scoring", reason="model-diagnostics is not installed")
    rng = np.random.default_rng(0)
    z = rng.normal(size=(2000, classes))
    p, y = softmax(2 * z), (softmax(z).cumsum(1) < rng.random((2000, 1))).sum(1).clip(max=classes - 1)
    p[::2] = p[0]  # many ties
    weight = rng.uniform(0.1, 3, 2000) if weigh else None
    names = ("miscalibration", "discrimination", "uncertainty")

    def ours(y, p, score):
        parts = metrics.decompose(y, p, score=score, sample_weight=weight, replicates=0, redraws=0)
        return np.array([getattr(parts, name).value for name in names])

    def of(k, function):
        return theirs.decompose((y == k).astype(float), p[:, k], weight, scoring_function=function())[names].to_numpy()[0]

    assert np.abs(ours(y, p, "brier") - sum(of(k, theirs.SquaredError) for k in range(classes))).max() < 1e-9
    for k in range(classes):
        assert np.abs(ours((y == k).astype(int), p[:, k], "nll") - of(k, theirs.LogLoss)).max() < 1e-9
    if classes == 2:
        assert np.abs(ours(y, p, "nll") - of(1, theirs.LogLoss)).max() < 1e-9


def test_the_decomposition_adds_up_to_the_score():
    p, y = softmax(2 * TEST[0]), TEST[1]
    for score in ("nll", "brier"):
        parts = metrics.decompose(y, p, score=score, seed=1)
        assert abs(parts.miscalibration.value - parts.discrimination.value + parts.uncertainty.value - getattr(metrics, score)(y, p)) < 1e-9
        for part in (parts.miscalibration, parts.discrimination, parts.uncertainty):
            assert part.interval[0] <= part.value <= part.interval[1]
        assert parts.miscalibration.floor.p_value < 0.05 and parts.uncertainty.floor is None
    with pytest.raises(localcal.InputError, match="score must be"):
        metrics.decompose(y, p, score="ece")


def test_multicalibration_is_the_commands():
    p, (_, y, _) = softmax(TEST[0]), TEST
    groups, weight = np.array(["left", "right", "far"])[np.arange(600) % 3], np.linspace(0.1, 3, 600)
    said = localcal.evaluate(p, y, groups=groups, sample_weight=weight, replicates=0, redraws=0, folds=0).report["multicalibration"]
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
    with pytest.raises(localcal.InputError, match="hand them over"):
        metrics.multicalibration_error(y, p, None)


def test_names_of_classes():
    p, y = softmax(TEST[0]), TEST[1]
    names = np.array(["dog", "ant", "cat", "bee"])  # of the columns
    few = y < 2
    assert metrics.nll(names[y][few], p[few], classes=names) == metrics.nll(y[few], p[few])


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
        found = cross_validate(localcal.Calibrator("ts").set_fit_request(features=True), TEST[0], TEST[1], scoring=local, params={"features": TEST[2]}, error_score="raise", cv=3)
    assert np.all(found["test_score"] < 0)


def test_bins_of_equal_weight():
    """By hand: a weight of 2 is the row twice, rows of one confidence are in one bin, and one bin is the mean gap."""
    p = np.array([[0.5, 0.5], [0.6, 0.4], [0.6, 0.4], [0.3, 0.7], [0.1, 0.9]])
    y, weight = np.array([1, 0, 1, 1, 1]), np.array([1, 1, 1, 2, 1])
    gaps = [0.5 + (0.6 + 0.6 - 1), 2 * (0.7 - 1) + (0.9 - 1)]  # of the first three rows and of the others, of weight 3 each
    assert metrics.adaptive_ece(y, p, sample_weight=weight, bins=2) == pytest.approx(sum(map(abs, gaps)) / 6)
    assert metrics.adaptive_ece(np.repeat(y, weight), np.repeat(p, weight, axis=0), bins=2) == pytest.approx(sum(map(abs, gaps)) / 6)
    assert metrics.adaptive_ece(y, p, bins=1) == pytest.approx(abs((p.max(axis=1) - (p.argmax(axis=1) == y)).mean()))


def test_names_that_moved_say_so():
    p, y = softmax(TEST[0]), TEST[1]
    for name in ("ece", "mce"):
        with pytest.warns(FutureWarning, match=f"classwise_{name}"):
            getattr(metrics, name)(y, p)
    with pytest.warns(FutureWarning, match="metrics.ece"):
        assert metrics.ece_top is metrics.ece
