"""What scikit-learn's user guide composes, as it is written there but for the class's name (CalibratedClassifierCV there).

Each case gives a number that shows the composition worked, and the least that it must be.
"""
import io
import tempfile
import warnings

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn", "1.6")
import joblib
import pandas
from scipy.stats import randint
from sklearn.base import clone
from sklearn.calibration import CalibrationDisplay, calibration_curve
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris, make_multilabel_classification
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, HistGradientBoostingClassifier, RandomForestClassifier, StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest, SequentialFeatureSelector
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.metrics import brier_score_loss, log_loss, make_scorer, roc_auc_score
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    LeaveOneGroupOut,
    RandomizedSearchCV,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    train_test_split,
    validation_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import estimator_html_repr

import localcal
from localcal import metrics

IRIS, IRIS_Y = load_iris(return_X_y=True)
CANCER, CANCER_Y = load_breast_cancer(return_X_y=True)
CANCER = StandardScaler().fit_transform(CANCER)
TRAIN, TEST, TRAIN_Y, TEST_Y = train_test_split(CANCER, CANCER_Y, random_state=0)
FLOWERS = pandas.DataFrame(IRIS, columns=list("abcd")).assign(place=np.where(np.arange(150) % 2, "hill", "shore"))
GROUPS = np.arange(150) // 3 % 5


def calibrated(base=None, **more):
    return localcal.CalibratedClassifier(GaussianNB() if base is None else base, **{"method": "ts", "cv": 2, **more})


def accuracy(model):
    """Of a model of two classes."""
    return model.fit(TRAIN, TRAIN_Y).score(TEST, TEST_Y)


def search(kind, grid, **more):
    return kind(calibrated(), grid, cv=2, **more).fit(TRAIN, TRAIN_Y).score(TEST, TEST_Y)


def displayed():
    pytest.importorskip("matplotlib").use("Agg")
    model = calibrated().fit(TRAIN, TRAIN_Y)
    return len(CalibrationDisplay.from_estimator(model, TEST, TEST_Y, n_bins=5).prob_true)


def gain():
    """How much less a naive Bayes classifier costs when it is calibrated."""
    raw = GaussianNB().fit(TRAIN, TRAIN_Y).predict_proba(TEST)
    return log_loss(TEST_Y, raw) - log_loss(TEST_Y, calibrated().fit(TRAIN, TRAIN_Y).predict_proba(TEST))


def cached():
    with tempfile.TemporaryDirectory() as folder:
        return accuracy(Pipeline([("reduce", PCA(8)), ("classify", calibrated())], memory=folder))


def stored():
    file = io.BytesIO()
    model = calibrated().fit(TRAIN, TRAIN_Y)
    joblib.dump(model, file)
    file.seek(0)
    return np.array_equal(joblib.load(file).predict_proba(TEST), model.predict_proba(TEST))


def texts():
    said = [f"{'good' if k % 2 else 'bad'} day {k % 7} {'sun' if k % 3 else 'rain'}" for k in range(120)]
    y = np.array(["up" if k % 2 else "down" for k in range(120)])
    return make_pipeline(TfidfVectorizer(), calibrated(LogisticRegression())).fit(said, y).score(said, y)


def columns():
    prepared = make_column_transformer((StandardScaler(), list("abcd")), (OneHotEncoder(), ["place"]))
    return make_pipeline(prepared, calibrated(LogisticRegression())).fit(FLOWERS, IRIS_Y).score(FLOWERS, IRIS_Y)


def frames():
    pipeline = make_pipeline(StandardScaler(), calibrated()).set_output(transform="pandas")
    return pipeline.fit(FLOWERS[list("abcd")], IRIS_Y).score(FLOWERS[list("abcd")], IRIS_Y)


def multi_index():
    frame = pandas.DataFrame(IRIS, index=pandas.MultiIndex.from_arrays([GROUPS, np.arange(150)]), columns=list("abcd"))
    return calibrated().fit(frame, pandas.Series(IRIS_Y, index=frame.index)).score(frame, IRIS_Y)


def labels_of_many():
    x, y = make_multilabel_classification(200, n_classes=3, random_state=0)
    return MultiOutputClassifier(calibrated()).fit(x, y).score(x, y)


def chain():
    x, y = make_multilabel_classification(200, n_classes=3, random_state=0)
    return ClassifierChain(calibrated(LogisticRegression())).fit(x, y).score(x, y)


def taught():
    y = np.where(np.arange(len(TRAIN_Y)) % 3 == 0, TRAIN_Y, -1)
    return SelfTrainingClassifier(calibrated(), max_iter=2).fit(TRAIN, y).score(TEST, TEST_Y)


def routed():
    with sklearn.config_context(enable_metadata_routing=True):
        base = LogisticRegression().set_fit_request(sample_weight=True)
        model = calibrated(base, cv=GroupKFold(2)).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        more = {"sample_weight": np.linspace(0.5, 1, 150), "groups": GROUPS}
        return cross_validate(model, IRIS, IRIS_Y, cv=GroupKFold(2), params=more, error_score="raise")["test_score"].mean()


def missing():
    x = TRAIN.copy()
    x[::7, 3] = np.nan
    return calibrated(HistGradientBoostingClassifier(max_iter=20)).fit(x, TRAIN_Y).score(TEST, TEST_Y)


def logits_by_hand():
    """A Calibrator fitted to scores of held-out rows, as the guide fits a calibrator on cross_val_predict's."""
    scores = cross_val_predict(LinearSVC(), TRAIN, TRAIN_Y, method="decision_function", cv=3)
    return localcal.Calibrator("ts").fit(scores, TRAIN_Y).score(LinearSVC().fit(TRAIN, TRAIN_Y).decision_function(TEST), TEST_Y)


TWO = {"method": ["ts", "vector"]}
CASES = {
    "1.4 support vectors": (lambda: accuracy(calibrated(SVC())), 0.9),
    "1.4 linear support vectors, text labels": (lambda: calibrated(LinearSVC()).fit(TRAIN, np.array(["no", "yes"])[TRAIN_Y]).score(TEST, np.array(["no", "yes"])[TEST_Y]), 0.9),
    "1.1 ridge classifier": (lambda: accuracy(calibrated(RidgeClassifier())), 0.9),
    "1.5 stochastic gradient, hinge": (lambda: accuracy(calibrated(SGDClassifier(random_state=0))), 0.9),
    "1.6 nearest neighbours": (lambda: accuracy(calibrated(KNeighborsClassifier())), 0.9),
    "1.11 random forest": (lambda: accuracy(calibrated(RandomForestClassifier(20, random_state=0))), 0.9),
    "1.11 boosting with missing values": (missing, 0.9),
    "1.11 voting": (lambda: accuracy(VotingClassifier([("a", calibrated()), ("b", LogisticRegression())], voting="soft")), 0.9),
    "1.11 stacking": (lambda: accuracy(StackingClassifier([("a", calibrated()), ("b", LinearSVC())], cv=2)), 0.9),
    "1.11 stacking, on top": (lambda: accuracy(StackingClassifier([("a", GaussianNB()), ("b", LinearSVC())], final_estimator=calibrated(LogisticRegression()), cv=2)), 0.9),
    "1.11 bagging": (lambda: accuracy(BaggingClassifier(calibrated(), n_estimators=2, random_state=0)), 0.9),
    "1.11 AdaBoost": (lambda: accuracy(AdaBoostClassifier(calibrated(), n_estimators=2, random_state=0)), 0.8),
    "1.12 one against the rest": (lambda: OneVsRestClassifier(calibrated(LogisticRegression())).fit(IRIS, IRIS_Y).score(IRIS, IRIS_Y), 0.9),
    "1.12 one against one": (lambda: OneVsOneClassifier(calibrated(LogisticRegression())).fit(IRIS, IRIS_Y).score(IRIS, IRIS_Y), 0.9),
    "1.12 output codes": (lambda: OutputCodeClassifier(calibrated(LogisticRegression()), random_state=0).fit(IRIS, IRIS_Y).score(IRIS, IRIS_Y), 0.7),
    "1.12 several outputs": (labels_of_many, 0.3),
    "1.12 a chain": (chain, 0.3),
    "1.13 features chosen before": (lambda: accuracy(make_pipeline(SelectKBest(k=5), calibrated())), 0.9),
    "1.13 features chosen by it": (lambda: SequentialFeatureSelector(calibrated(), n_features_to_select=1, cv=2).fit(IRIS[:, :2], IRIS_Y).get_support().sum(), 1),
    "1.14 self-training": (taught, 0.85),
    "1.16 calibrating a classifier": (gain, 0.05),
    "1.16 an ensemble of folds": (lambda: accuracy(calibrated(ensemble=True)), 0.9),
    "1.16 a fitted classifier": (lambda: calibrated(GaussianNB().fit(TRAIN[:200], TRAIN_Y[:200]), cv="prefit").fit(TRAIN[200:], TRAIN_Y[200:]).score(TEST, TEST_Y), 0.9),
    "1.16 a frozen classifier": (lambda: calibrated(FrozenEstimator(GaussianNB().fit(TRAIN[:200], TRAIN_Y[:200]))).fit(TRAIN[200:], TRAIN_Y[200:]).score(TEST, TEST_Y), 0.9),
    "1.16 calibration curve": (lambda: len(calibration_curve(TEST_Y, calibrated().fit(TRAIN, TRAIN_Y).predict_proba(TEST)[:, 1], n_bins=5)[0]), 3),
    "1.16 calibration display": (displayed, 3),
    "1.16 held-out scores by hand": (logits_by_hand, 0.9),
    "1.17 a network": (lambda: accuracy(calibrated(MLPClassifier((8,), max_iter=60, random_state=0))), 0.9),
    "3.1 cross_val_score": (lambda: cross_val_score(calibrated(), IRIS, IRIS_Y, cv=3).min(), 0.85),
    "3.1 several metrics": (lambda: cross_validate(calibrated(), CANCER, CANCER_Y, cv=2, scoring=["roc_auc", "neg_log_loss", "neg_brier_score"])["test_roc_auc"].min(), 0.95),
    "3.1 cross_val_predict": (lambda: roc_auc_score(CANCER_Y, cross_val_predict(calibrated(), CANCER, CANCER_Y, cv=2, method="predict_proba")[:, 1]), 0.95),
    "3.1 folds of groups": (lambda: cross_val_score(calibrated(), IRIS, IRIS_Y, groups=GROUPS, cv=StratifiedGroupKFold(2)).min(), 0.85),
    "3.1 one group left out": (lambda: cross_val_score(calibrated(), IRIS, IRIS_Y, groups=GROUPS % 2, cv=LeaveOneGroupOut()).min(), 0.85),
    "3.1 repeated folds": (lambda: cross_val_score(calibrated(), IRIS, IRIS_Y, cv=RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0)).min(), 0.85),
    "3.1 shuffles": (lambda: cross_val_score(calibrated(), IRIS, IRIS_Y, cv=ShuffleSplit(2, random_state=0)).min(), 0.8),
    "3.1 permutation test": (lambda: 1 - permutation_test_score(calibrated(), IRIS, IRIS_Y, cv=2, n_permutations=5, random_state=0)[2], 0.8),
    "3.2 grid search": (lambda: search(GridSearchCV, TWO, scoring="neg_log_loss"), -1),
    "3.2 grid search of the base": (lambda: search(GridSearchCV, {"estimator__var_smoothing": [1e-9, 1e-3]}), 0.9),
    "3.2 random search": (lambda: search(RandomizedSearchCV, {"seed": randint(0, 9)}, n_iter=2, random_state=0), 0.9),
    "3.2 halving search": (lambda: search(HalvingGridSearchCV, TWO, min_resources=100, random_state=0), 0.9),
    "3.2 two metrics, one refit": (lambda: search(GridSearchCV, TWO, scoring={"auc": "roc_auc", "loss": "neg_log_loss"}, refit="loss"), -1),
    "3.2 search in a cross-validation": (lambda: cross_val_score(GridSearchCV(calibrated(), TWO, cv=2), IRIS, IRIS_Y, cv=2).min(), 0.85),
    "3.3 a tuned threshold": (lambda: accuracy(TunedThresholdClassifierCV(calibrated(), cv=2)), 0.85),
    "3.3 a fixed threshold": (lambda: accuracy(FixedThresholdClassifier(calibrated(), threshold=0.3)), 0.85),
    "3.4 a scorer of one's own": (lambda: cross_val_score(calibrated(), IRIS, IRIS_Y, cv=2, scoring=make_scorer(metrics.classwise_ece, response_method="predict_proba", greater_is_better=False)).min(), -0.2),
    "3.4 Brier score": (lambda: -brier_score_loss(TEST_Y, calibrated().fit(TRAIN, TRAIN_Y).predict_proba(TEST)[:, 1]), -0.1),
    "3.5 validation curve": (lambda: validation_curve(calibrated(), IRIS, IRIS_Y, param_name="method", param_range=["ts", "vector"], cv=2)[1].min(), 0.85),
    "3.5 learning curve": (lambda: learning_curve(calibrated(), IRIS, IRIS_Y, train_sizes=[0.5, 1.0], cv=2, shuffle=True, random_state=0)[2].min(), 0.8),
    "4.1 partial dependence": (lambda: partial_dependence(calibrated().fit(IRIS, IRIS_Y), IRIS, [0], grid_resolution=4)["average"].shape[0], 3),
    "4.2 permutation importance": (lambda: permutation_importance(calibrated().fit(IRIS, IRIS_Y), IRIS, IRIS_Y, n_repeats=2, random_state=0).importances_mean.max(), 0.1),
    "6.1 pipeline": (lambda: accuracy(make_pipeline(StandardScaler(), calibrated())), 0.9),
    "6.1 pipeline with a cache": (cached, 0.85),
    "6.1 feature union": (lambda: accuracy(make_pipeline(FeatureUnion([("a", PCA(4)), ("b", SelectKBest(k=4))]), calibrated())), 0.9),
    "6.1 columns of a frame": (columns, 0.9),
    "6.1 pandas between steps": (frames, 0.9),
    "6.1 frame with two indices": (multi_index, 0.9),
    "6.1 an estimator's page": (lambda: len(estimator_html_repr(make_pipeline(StandardScaler(), calibrated()))), 1000),
    "6.1 metadata routing": (routed, 0.9),
    "6.2 text, sparse": (texts, 0.9),
    "6.4 imputation": (lambda: accuracy(make_pipeline(SimpleImputer(), calibrated())), 0.9),
    "9 joblib": (stored, 1),
    "9 clone": (lambda: clone(calibrated(method="vector")).get_params()["method"] == "vector", 1),
    "10 a dummy": (lambda: accuracy(calibrated(DummyClassifier(strategy="prior"))), 0.5),
}


def test_there_are_forty():
    assert len(CASES) >= 40


@pytest.mark.parametrize("name", CASES)
def test_composition(name):
    run, least = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert run() >= least
