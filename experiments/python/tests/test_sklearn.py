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
from sklearn.datasets import load_digits, make_classification
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score, cross_validate, train_test_split
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
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
    model = localcal.CalibratedClassifier(forest, **{"method": "mixture", "cv": 3, **more}).fit(x[rows], names[y[rows]])
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
