"""The checks of scikit-learn that hold for a calibrator."""
import pickle
import warnings

import numpy as np
import pandas
import pytest
import scipy.sparse

pytest.importorskip("sklearn", "1.6")
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import calibra


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
        told = check_estimator(calibra.Calibrator("ts"), expected_failed_checks=NOT_APPLICABLE)
    passed = {r["check_name"] for r in told if r["status"] == "passed"}
    assert len(passed) >= 30, sorted(passed)


def test_clone_and_search():
    x, y = make_classification(600, n_informative=5, n_classes=3, random_state=0)
    logits = LogisticRegression().fit(x[:300], y[:300]).decision_function(x[300:])
    model = calibra.Calibrator("vector", seed=4)
    assert clone(model).get_params() == model.get_params()
    search = GridSearchCV(calibra.Calibrator("ts"), {"method": ["ts", "vector"]}, scoring="neg_log_loss", cv=3).fit(logits, y[300:])
    assert search.best_params_["method"] in ("ts", "vector")


def digits():
    x, y = load_digits(return_X_y=True)
    return train_test_split(x, y, train_size=700, test_size=600, random_state=0)


def test_check_estimator_of_the_classifier():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = check_estimator(calibra.CalibratedClassifier(method="ts", cv=2))
    assert sum(r["status"] == "passed" for r in told) >= 60


@pytest.mark.parametrize("more", [{}, {"ensemble": True}, {"latent": PCA(8)}, {"cv": "prefit"}, {"latent": RandomForestClassifier.predict_proba, "ensemble": True}])
def test_a_forest_is_calibrated(more):
    x, other, y, truth = digits()
    names = np.array([f"digit {k}" for k in range(10)])
    forest = RandomForestClassifier(50, random_state=0).fit(x[:350], names[y[:350]])
    raw = log_loss(names[truth], forest.predict_proba(other))
    rows = slice(350, None) if "cv" in more else slice(None)
    model = calibra.CalibratedClassifier(forest, **{"method": "stacked", "cv": 3, **more}).fit(x[rows], names[y[rows]])
    assert model.classes_.tolist() == sorted(names)
    assert log_loss(names[truth], model.predict_proba(other)) < 0.5 * raw
    assert model.score(other, names[truth]) > 0.93
    assert np.array_equal(pickle.loads(pickle.dumps(clone(model))).get_params()["cv"], model.cv)


def test_it_composes():
    x, other, y, truth = digits()
    classifier = calibra.CalibratedClassifier(LogisticRegression(max_iter=300), method="ts", cv=2)
    pipeline = make_pipeline(StandardScaler(), classifier)
    search = GridSearchCV(pipeline, {"calibratedclassifier__method": ["ts", "vector"]}, scoring="neg_log_loss", cv=2).fit(x, y)
    assert search.score(other, truth) > -0.3
    assert cross_val_score(pipeline, x, y, cv=2).min() > 0.9
    frame = pandas.DataFrame(x, columns=[f"pixel {j}" for j in range(64)])
    model = classifier.fit(frame, y, sample_weight=np.full(len(y), 2.0))
    assert list(model.feature_names_in_) == list(frame.columns)
    sparse = calibra.CalibratedClassifier(LogisticRegression(max_iter=300), method="ts", cv=2).fit(scipy.sparse.csr_matrix(x), y)
    assert sparse.score(scipy.sparse.csr_matrix(other), truth) > 0.9
    with pytest.raises(calibra.InputError, match="no cal_features"):
        calibra.CalibratedClassifier(LogisticRegression(max_iter=300), method="vq", cv=2).fit(scipy.sparse.csr_matrix(x), y)
    with pytest.raises(calibra.InputError, match="differ from fold to fold"):
        calibra.CalibratedClassifier(latent=lambda e, X: X).fit(x, y)
