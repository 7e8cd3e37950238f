"""The checks of scikit-learn that hold for a calibrator."""
import json
import pickle
import warnings

import numpy as np
import pandas
import pytest
import scipy.sparse

sklearn = pytest.importorskip("sklearn", "1.6")
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, make_classification
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, LeaveOneOut, cross_val_predict, cross_val_score, cross_validate, train_test_split
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import localcal
from test_calibra import rows


COLUMNS = "logits have a column for each class, and the rows of this check have not"
OTHERWISE = "the command refuses it in a sentence of its own"

# The checks that do not apply, and why. scikit-learn fails on any other.
NOT_APPLICABLE = {
    **dict.fromkeys(("check_estimators_overwrite_params", "check_estimators_fit_returns_self", "check_readonly_memmap_input", "check_classifiers_classes", "check_classifiers_train", "check_classifiers_one_label"), COLUMNS),
    **dict.fromkeys(("check_estimators_empty_data_messages", "check_estimators_nan_inf", "check_fit2d_1feature", "check_supervised_y_2d"), OTHERWISE),
    "check_do_not_raise_errors_in_init_or_set_params": "**settings is no parameter of that name",
}

def test_check_estimator():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = check_estimator(localcal.Calibrator("ts", scores="logits"), expected_failed_checks=NOT_APPLICABLE)
    passed = {r["check_name"] for r in told if r["status"] == "passed"}
    assert len(passed) >= 30, sorted(passed)


def test_clone_and_search():
    x, y = make_classification(600, n_informative=5, n_classes=3, random_state=0)
    logits = LogisticRegression().fit(x[:300], y[:300]).decision_function(x[300:])
    model = localcal.Calibrator("vector", seed=4)
    assert clone(model).get_params() == model.get_params()
    search = GridSearchCV(localcal.Calibrator("ts"), {"method": ["ts", "vector"]}, scoring="neg_log_loss", cv=3).fit(logits, y[300:])
    assert search.best_params_["method"] in ("ts", "vector")


def digits():
    x, y = load_digits(return_X_y=True)
    return train_test_split(x, y, train_size=700, test_size=600, random_state=0)


def test_check_estimator_of_the_classifier():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = check_estimator(localcal.CalibratedClassifier(method="ts", cv=2))
    assert sum(r["status"] == "passed" for r in told) >= 60


@pytest.mark.parametrize("more", [{}, {"ensemble": True}, {"latent": PCA(8)}, {"cv": "prefit"}, {"latent": RandomForestClassifier.predict_proba, "ensemble": True}])
def test_a_forest_is_calibrated(more):
    x, other, y, truth = digits()
    names = np.array([f"digit {k}" for k in range(10)])
    forest = RandomForestClassifier(50, random_state=0).fit(x[:350], names[y[:350]])
    raw = log_loss(names[truth], forest.predict_proba(other))
    rows = slice(350, None) if "cv" in more else slice(None)
    model = localcal.CalibratedClassifier(forest, **{"method": "pool", "cv": 3, **more}).fit(x[rows], names[y[rows]])
    assert model.classes_.tolist() == sorted(names)
    assert log_loss(names[truth], model.predict_proba(other)) < 0.5 * raw
    assert model.score(other, names[truth]) > 0.93
    assert np.array_equal(pickle.loads(pickle.dumps(clone(model))).get_params()["cv"], model.cv)


def test_it_composes():
    x, other, y, truth = digits()
    classifier = localcal.CalibratedClassifier(LogisticRegression(max_iter=300), method="ts", cv=2)
    pipeline = make_pipeline(StandardScaler(), classifier)
    search = GridSearchCV(pipeline, {"calibratedclassifier__method": ["ts", "vector"]}, scoring="neg_log_loss", cv=2).fit(x, y)
    assert search.score(other, truth) > -0.3
    assert cross_val_score(pipeline, x, y, cv=2).min() > 0.9
    frame = pandas.DataFrame(x, columns=[f"pixel {j}" for j in range(64)])
    model = classifier.fit(frame, y, sample_weight=np.full(len(y), 2.0))
    assert list(model.feature_names_in_) == list(frame.columns)
    sparse = localcal.CalibratedClassifier(LogisticRegression(max_iter=300), method="ts", cv=2).fit(scipy.sparse.csr_matrix(x), y)
    assert sparse.score(scipy.sparse.csr_matrix(other), truth) > 0.9
    with pytest.raises(localcal.InputError, match="needs features"):
        localcal.CalibratedClassifier(LogisticRegression(max_iter=300), method="vq", cv=2).fit(scipy.sparse.csr_matrix(x), y)
    with pytest.raises(localcal.InputError, match="differ from fold to fold"):
        localcal.CalibratedClassifier(latent=lambda e, X: X).fit(x, y)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_features_weights_and_groups_are_routed(routing):
    """What a cross-validation hands over is what the same calls by hand are given."""
    logits, y, features = rows(0)
    groups, weight = np.arange(600) // 12, np.linspace(0.1, 2, 600)
    asked = localcal.Calibrator("local-ts").set_fit_request(features=True, sample_weight="w", groups=False)
    asked.set_score_request(features=True, sample_weight=False).set_predict_proba_request(features=True)
    more = {"features": features, "w": weight, "groups": groups}
    found = cross_validate(asked, logits, y, cv=GroupKFold(3), params=more, return_estimator=True)
    for (train, test), model, score in zip(GroupKFold(3).split(logits, y, groups), found["estimator"], found["test_score"]):
        by_hand = localcal.Calibrator("local-ts").fit(logits[train], y[train], features=features[train], sample_weight=weight[train])
        assert model.run_["model.safetensors"] == by_hand.run_["model.safetensors"]
        assert score == by_hand.score(logits[test], y[test], features[test])
    # scikit-learn routes nothing to the predictions of cross_val_predict: there features are columns of X
    said = cross_val_predict(localcal.Calibrator("local-ts", features=range(4, 12)).set_fit_request(groups=False), np.hstack([logits, features]), y, cv=GroupKFold(3), params={"groups": groups}, method="predict_proba")
    train, test = next(GroupKFold(3).split(logits, y, groups))
    by_hand = localcal.Calibrator("local-ts").fit(logits[train], y[train], features=features[train])
    assert np.array_equal(said[test], by_hand.predict_proba(logits[test], features[test]))
    search = GridSearchCV(asked, {"method": ["ts", "local-ts"]}, cv=3, error_score="raise").fit(logits, y, features=features, w=weight)
    assert set(search.cv_results_["param_method"]) == {"ts", "local-ts"}
    assert clone(asked).get_metadata_routing().fit.requests == {"features": True, "sample_weight": "w", "groups": False}
    with pytest.raises(UnsetMetadataPassedError, match="features"):
        cross_validate(localcal.Calibrator("ts"), logits, y, params={"features": features}, error_score="raise")
    with pytest.raises(TypeError):
        asked.set_fit_request(nosuch=True)


def test_the_classifier_routes_to_its_estimator_and_splitter(routing):
    x, _, y, _ = digits()
    groups, weight = np.arange(700) // 7, np.linspace(0.1, 2, 700)

    class Asked(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            self.weights_ = None if sample_weight is None else len(sample_weight)
            return super().fit(X, y, sample_weight)

    for wants in (True, False):
        base = Asked(max_iter=300).set_fit_request(sample_weight=wants)
        model = localcal.CalibratedClassifier(base, method="ts", cv=GroupKFold(3)).set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        found = cross_validate(model, x, y, cv=GroupKFold(2), params={"groups": groups, "sample_weight": weight}, return_estimator=True, error_score="raise")
        assert found["test_score"].min() > 0.85 and all((m.estimator_.weights_ == 350) == wants for m in found["estimator"])


def test_routing_is_to_be_enabled():
    with pytest.raises(RuntimeError, match="enable_metadata_routing"):
        localcal.Calibrator().set_fit_request(features=True)


def test_whole_groups_are_validated_on():
    logits, y, features = rows(0)
    groups = np.arange(600) % 40
    model = localcal.Calibrator("vq", optim__epochs=3).fit(logits, y, features=features, groups=groups)
    config = json.loads(model.run_["config.json"])
    assert config["validation_rows"] == 60 and config["calibration_rows"] == 540  # 4 groups of 15
    for wrong, sentence in (({"groups": groups[:5]}, "has the shape"), ({"groups": np.zeros(600)}, "too few")):
        with pytest.raises(localcal.InputError, match=sentence):
            localcal.Calibrator("vq").fit(logits, y, features=features, **wrong)
    with pytest.raises(localcal.InputError, match="leave out one"):
        localcal.Calibrator("vq", split="none").fit(logits, y, features=features, groups=groups)


def messy(rows=400, seed=0):
    x, y = make_classification(rows, 8, n_informative=5, n_classes=3, flip_y=0.1, random_state=seed)
    return x, y


@pytest.mark.parametrize("method", ["pool", "ts"])
def test_a_missing_number_is_the_mean_of_its_column(method):
    x, y = messy()
    x[7, 2] = np.nan
    model = localcal.CalibratedClassifier(HistGradientBoostingClassifier(max_iter=20), method=method, cv=3).fit(x, y)
    x[3] = np.nan
    p = model.predict_proba(x)
    assert np.isfinite(p).all() and np.allclose(p.sum(axis=1), 1)


@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize("method", ["ts", "isotonic", "histogram", "sigmoid", "pool"])
@pytest.mark.parametrize("decides", [True, False])
def test_a_fold_without_a_class(method, ensemble, decides):
    """Where a fold's estimator has not seen a class it has the probability 0, and the others' means remain."""
    x, y = messy()
    folds = [(train[y[train] != 2] if k == 0 else train, test) for k, (train, test) in enumerate(KFold(3).split(x))]
    one = LogisticRegression() if decides else RandomForestClassifier(20, random_state=0)
    model = localcal.CalibratedClassifier(one, method=method, ensemble=ensemble, cv=folds).fit(x, y)
    p = model.predict_proba(x)
    assert np.isfinite(p).all() and np.allclose(p.sum(axis=1), 1)
    assert (p > 0).all(axis=1).any() and model.score(x, y) > 0.6
    if ensemble:
        first = model.calibrated_classifiers_[0].predict_proba(x)
        assert (first[:, 2] == 0).all() and (first[:, :2] > 0).any()


def test_frames_keep_their_names():
    polars = pytest.importorskip("polars")
    from sklearn.compose import ColumnTransformer

    x, y = messy()
    columns = {f"c{j}": x[:, j] for j in range(8)} | {"town": np.array(["Rome", "Oslo"])[y % 2]}
    by_name = ColumnTransformer([("numbers", StandardScaler(), ["c0", "c1", "c5"]), ("town", OneHotEncoder(sparse_output=False), ["town"])])
    for frame in (polars.DataFrame(columns), pandas.DataFrame(columns)):
        for ensemble in (True, False):
            model = localcal.CalibratedClassifier(make_pipeline(by_name, LogisticRegression()), method="ts", cv=3, ensemble=ensemble).fit(frame, y)
            assert list(model.feature_names_in_) == list(columns) and model.n_features_in_ == 9
            assert model.predict_proba(frame).shape == (400, 3)


def test_weights_are_passed_or_told():
    x, y = messy()
    weight = np.linspace(0.1, 2, 400)
    said = localcal.CalibratedClassifier(LogisticRegression(), method="ts", cv=3).fit(x, y, sample_weight=weight)
    assert not np.allclose(said.predict_proba(x), localcal.CalibratedClassifier(LogisticRegression(), method="ts", cv=3).fit(x, y).predict_proba(x), atol=1e-3)
    with pytest.warns(localcal.CalibraWarning, match="takes no sample_weight"):
        localcal.CalibratedClassifier(KNeighborsClassifier(), method="ts", cv=3).fit(x, y, sample_weight=weight)


def test_folds_of_few_rows():
    x, y = messy(60)
    model = localcal.CalibratedClassifier(LogisticRegression(), method="ts", cv=LeaveOneOut()).fit(x, y)
    assert model.predict_proba(x).shape == (60, 3)
    for cv, sentence in ((LeaveOneOut(), "LeaveOneOut"), (KFold(50), "Requesting 50-fold"), (50, "Requesting 50-fold")):
        with pytest.raises(localcal.InputError, match=sentence):
            localcal.CalibratedClassifier(LogisticRegression(), method="ts", cv=cv, ensemble=True).fit(x, y)


@pytest.mark.parametrize("name, method", [("sigmoid", "ps"), ("isotonic", "ir"), ("temperature", "ts")])
def test_scikit_learns_names(name, method):
    x, y = messy()
    one, other = (localcal.CalibratedClassifier(LogisticRegression(), method=m, cv=3).fit(x, y).predict_proba(x) for m in (name, method))
    assert np.array_equal(one, other)


@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize("one", [LogisticRegression(), RandomForestClassifier(50, random_state=0)])
def test_sigmoid_is_scikit_learns(one, ensemble):
    """Of two classes for any scores, and of more for probabilities; its solver stops at about 1e-5."""
    x, y = messy()
    for keep in (y < 2, slice(None)) if isinstance(one, RandomForestClassifier) else (y < 2,):
        ours, theirs = (c(one, method="sigmoid", cv=3, ensemble=ensemble).fit(x[keep], y[keep]).predict_proba(x) for c in (localcal.CalibratedClassifier, CalibratedClassifierCV))
        assert np.abs(ours - theirs).max() < 1e-4


def test_large_scores_are_no_masks():
    x, y = messy()
    model = localcal.CalibratedClassifier(RidgeClassifier(), method="ts", cv=3).fit(x, y)

    class Large(RidgeClassifier):
        def decision_function(self, X):
            return 1e6 * super().decision_function(X)

    assert np.allclose(localcal.CalibratedClassifier(Large(), method="ts", cv=3).fit(x, y).predict_proba(x), model.predict_proba(x), atol=1e-6)
