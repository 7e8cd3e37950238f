"""The checks of scikit-learn that hold for a calibrator."""
import warnings

import pytest

pytest.importorskip("sklearn", "1.6")
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
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
