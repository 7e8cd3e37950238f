"""A plugin of pytest that puts CalibratedClassifier in the place of CalibratedClassifierCV in scikit-learn's own tests.

    cd experiments/python/tests && python -m pytest -p sklearn_suite --pyargs sklearn.tests.test_calibration

test_sklearn_suite.py runs it. It is loaded before scikit-learn's tests are, which import the class by name.
"""
import numpy as np
import sklearn.calibration
from sklearn.frozen import FrozenEstimator
from sklearn.svm import LinearSVC
from sklearn.utils.metadata_routing import _routing_enabled

import localcal


class CalibratedClassifierCV(localcal.CalibratedClassifier):
    """CalibratedClassifier with the names, the order and the defaults of scikit-learn's parameters."""

    def __init__(self, estimator=None, *, method="sigmoid", cv=None, n_jobs=None, ensemble="auto"):
        super().__init__(estimator, method=method, cv=cv, n_jobs=n_jobs, ensemble=ensemble)

    def fit(self, X, y, sample_weight=None, **params):
        chosen = self.ensemble
        if chosen == "auto":
            self.ensemble = not isinstance(self.estimator, FrozenEstimator)
        try:
            super().fit(X, y, sample_weight, **params)
        finally:
            self.ensemble = chosen
        for one in self.calibrated_classifiers_:
            one.calibrators = [one.calibrator]
            if self.method == "temperature":  # softmax(z/T) of z = (1, 0, …)
                p = one.calibrator.predict_proba(np.eye(len(one.columns))[:1])[0]
                one.calibrator.beta_ = np.log(p[0] / p[1]) / one.scale
        return self

    def _base(self):
        if self.estimator is not None:
            return self.estimator
        one = LinearSVC(random_state=0)
        return one.set_fit_request(sample_weight=True) if _routing_enabled() else one


sklearn.calibration.CalibratedClassifierCV = CalibratedClassifierCV
