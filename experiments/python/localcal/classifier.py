"""A classifier of scikit-learn with calibrated probabilities."""
from __future__ import annotations

import typing

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import check_cv
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from localcal.calibrator import Calibrator
from localcal.classes import numbered
from localcal.command import InputError
from localcal.tables import Array, Rows


# Methods whose probabilities are steps of the scores. That of a class is 0 where no row of a step has it, which one fold's
# rows do not show of the others': their probabilities are averaged.
STEPS = ("histogram", "ir", "venn-abers")

LEAST = float(np.finfo(np.float64).tiny)  # what no probability of another method is below, but by rounding


class CalibratedClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier whose probabilities are calibrated by a method of calibra, as CalibratedClassifierCV.

    Parameters
    ----------
    estimator : classifier with decision_function or predict_proba; None is LogisticRegression()
    method : str or None
        The method that is fitted to its scores: "mixture", "vq", "ts", or another of `calibra methods --all`; None is
        the recommended method, as for Calibrator.
    cv : int, splitter, iterable of (train, test), or "prefit"
        How rows are held out: the calibrator sees scores of rows that their estimator was not fitted to.
        With "prefit" the estimator is fitted already, and fit takes rows that it has not seen.
    ensemble : bool
        True keeps an estimator with a calibrator for each fold, and averages their log-probabilities or, of methods that are
        steps (ir, histogram, venn-abers), their probabilities.
        False keeps one estimator, fitted to all rows, and one calibrator of all held-out scores.
    latent : None, transformer, callable(estimator, X), or str
        The features (N×M) that local methods divide: the output of a transformer for X, or of a callable for
        the fitted estimator and X. A text names a layer of the network that the estimator holds as module_, as
        skorch's do; its outputs are the features. None is X itself, if X is an array of numbers without missing ones.
        The outputs of a callable or a layer differ from fold to fold, so these need ensemble=True or cv="prefit".
    seed : int
        Seed of the method's draws.
    scores : str or None
        What decision_function or predict_proba gives, as the parameter scores of Calibrator; None is logits of the first, and
        probabilities of the second.
    settings : dict or None
        Settings of the method, as `calibra methods NAME` lists them: {"codebook.slots": 16}.
    random_state : int, RandomState, Generator or None
        scikit-learn's name of seed, in its place where it is given.

    Attributes
    ----------
    classes_ : array (C), the columns of predict_proba
    calibrated_ : list of (estimator, Calibrator), one, or one for each fold

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from localcal.classifier import CalibratedClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = CalibratedClassifier(method="ts", cv=3).fit(X[:500], y[:500])
    >>> model.predict(X[500:503]), model.predict_proba(X[500:503]).shape
    (array([9, 2, 2]), (3, 10))
    """

    __metadata_request__fit = {"groups": UNUSED}  # the splitter asks for them

    def __init__(
        self,
        estimator: typing.Any = None,
        *,
        method: str | None = None,
        cv: typing.Any = 5,
        ensemble: bool = False,
        latent: typing.Any = None,
        seed: int = 0,
        scores: str | None = None,
        settings: dict[str, typing.Any] | None = None,
        random_state: typing.Any = None,
    ) -> None:
        self.random_state = random_state
        self.estimator, self.method, self.cv, self.ensemble = estimator, method, cv, ensemble
        self.latent, self.seed, self.scores, self.settings = latent, seed, scores, settings

    def fit(self, X: Rows, y: Rows, sample_weight: Rows = None, groups: Rows = None, **params: typing.Any) -> CalibratedClassifier:
        """Fits the estimator, unless it is fitted, and the calibrator.

        With metadata routing the estimator and the splitter are given what they ask for.

        Parameters
        ----------
        X : what the estimator takes, N rows
        y : array of N classes
        sample_weight : array of N numbers, or None
            For the estimator, where its fit takes them, and the calibrator.
        groups : array of N, or None
            For the splitter.
        **params
            For the estimator's fit.

        Returns
        -------
        CalibratedClassifier
            Itself.
        """
        if y is None:
            raise InputError("fit requires y to be passed, but the target y is None")
        estimator = self._base()
        y = column_or_1d(y, warn=True)
        if sample_weight is not None and (sample_weight := np.asarray(sample_weight)).shape != y.shape:
            raise InputError(f"sample_weight has the shape {sample_weight.shape}; it must have one number for each of {len(y)} rows")
        fit, split = self._routed(estimator, sample_weight, groups, params)
        if isinstance(self.cv, str):
            if self.cv != "prefit":
                raise InputError(f'cv is {self.cv!r}; it must be "prefit", a number of folds, or a splitter')
            check_is_fitted(estimator)
            self.classes_ = estimator.classes_
            folds: list[tuple[typing.Any, Array]] = [(None, np.arange(len(y)))]
        else:
            self.classes_ = np.unique(y)
            folds = list(typing.cast(typing.Any, check_cv(self.cv, y, classifier=True)).split(X, y, **split))
            if (isinstance(self.latent, str) or callable(self.latent) and not hasattr(self.latent, "transform")) and not self.ensemble:
                raise InputError('latent takes features from the estimator, which differ from fold to fold; choose ensemble=True or cv="prefit"')
        self.transformer_ = self._transformer(X)
        fitted, scores, features, held = [], [], [], []
        for train, test in folds:
            one = estimator if train is None else self._fitted(estimator, X, y, train, fit)
            rows = _rows(X, test)
            fitted.append((one, test))
            scores.append(_scores(one, rows, self.classes_))
            features.append(self._features(one, rows))
            held.append(test)
        place = numbered(y, np.asarray(self.classes_))
        if self.ensemble:
            self.calibrated_ = [(one, self._calibrator(one, s, place[t], f, sample_weight, t)) for (one, t), s, f in zip(fitted, scores, features)]
        else:
            rows = np.concatenate(held)
            known = [one for one in features if one is not None]
            feature = np.concatenate(known) if known else None
            last = fitted[0][0] if isinstance(self.cv, str) else self._fitted(estimator, X, y, np.arange(len(y)), fit)
            self.calibrated_ = [(last, self._calibrator(last, np.concatenate(scores), place[rows], feature, sample_weight, rows))]
        self.estimator_ = self.calibrated_[0][0]
        if hasattr(self.estimator_, "n_features_in_"):
            self.n_features_in_ = self.estimator_.n_features_in_
        if hasattr(self.estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.estimator_.feature_names_in_
        return self

    def predict_proba(self, X: Rows) -> Array:
        """Calibrated probabilities; of an ensemble, the normalized geometric mean, or of steps the mean.

        Parameters
        ----------
        X : what the estimator takes, N rows

        Returns
        -------
        array of N×C
        """
        check_is_fitted(self)
        total: typing.Any = 0.0
        steps = self.method in STEPS
        for estimator, calibrator in self.calibrated_:
            p = calibrator.predict_proba(_scores(estimator, X, self.classes_), self._features(estimator, X))
            if len(self.calibrated_) == 1:
                return p
            total = total + (p if steps else np.log(np.maximum(p, LEAST))) / len(self.calibrated_)
        p = total if steps else np.exp(total - total.max(axis=1, keepdims=True))
        return typing.cast(Array, p / p.sum(axis=1, keepdims=True))

    def predict(self, X: Rows) -> Array:
        """The most probable class of each row.

        Parameters
        ----------
        X : what the estimator takes, N rows

        Returns
        -------
        array of N
        """
        p = self.predict_proba(X)
        return typing.cast(Array, self.classes_[np.argmax(p, axis=1)])

    def get_metadata_routing(self) -> MetadataRouter:
        """What fit, its estimator and its splitter ask for.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRouter

        Examples
        --------
        >>> from localcal.classifier import CalibratedClassifier
        >>> sorted(CalibratedClassifier().get_metadata_routing()._route_mappings)
        ['estimator', 'splitter']
        """
        fit = MethodMapping().add(caller="fit", callee="fit")
        split = MethodMapping().add(caller="fit", callee="split")
        return MetadataRouter(owner=self).add_self_request(self).add(estimator=self._base(), method_mapping=fit).add(splitter=self.cv, method_mapping=split)

    def _base(self) -> typing.Any:
        return LogisticRegression() if self.estimator is None else self.estimator

    def _routed(self, estimator: typing.Any, sample_weight: Rows, groups: Rows, params: dict[str, typing.Any]) -> tuple[dict[str, Rows], dict[str, Rows]]:
        """The arguments for the estimator's fit, and for the splitter."""
        given = {name: value for name, value in {"sample_weight": sample_weight, "groups": groups, **params}.items() if value is not None}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **given)
            return dict(routed.estimator.fit), dict(routed.splitter.split)
        split = {"groups": given.pop("groups")} if groups is not None else {}
        if not has_fit_parameter(estimator, "sample_weight"):
            given.pop("sample_weight", None)
        return given, split

    def _fitted(self, estimator: typing.Any, X: Rows, y: Array, train: Array, params: dict[str, Rows]) -> typing.Any:
        more = {name: _rows(value, train) if hasattr(value, "__len__") and len(value) == len(y) else value for name, value in params.items()}
        one = typing.cast(typing.Any, clone(estimator)).fit(_rows(X, train), y[train], **more)
        if not np.array_equal(one.classes_, self.classes_):
            raise InputError(f"a fold has no rows of {len(self.classes_) - len(one.classes_)} classes; choose fewer folds")
        return one

    def _calibrator(self, estimator: typing.Any, scores: Array, labels: Array, features: Array | None, sample_weight: Rows, rows: Array) -> Calibrator:
        settings = {key.replace(".", "__"): value for key, value in (self.settings or {}).items()}
        weight = None if sample_weight is None else np.asarray(sample_weight)[rows]
        # its own estimator gave the scores, so that none are in another scale or order by mistake
        said = self.scores or ("logits" if _decides(estimator, scores, self.classes_) else "probabilities")
        return Calibrator(self.method, seed=self.seed, random_state=self.random_state, accept_shift=True, scores=said, **settings).fit(scores, labels, features, sample_weight=weight, classes=np.arange(len(self.classes_)))

    def _transformer(self, X: Rows) -> typing.Any:
        return typing.cast(typing.Any, clone(self.latent)).fit(X) if hasattr(self.latent, "transform") else None

    def _features(self, estimator: typing.Any, X: Rows) -> Array | None:
        if self.transformer_ is not None:
            X = self.transformer_.transform(X)
        elif isinstance(self.latent, str):
            X = _of_layer(estimator, self.latent, X)
        elif self.latent is not None:
            X = self.latent(estimator, X)
        if hasattr(X, "tocsr"):
            return None
        X = np.asarray(X)
        return X if X.ndim == 2 and X.dtype.kind in "fiub" and np.isfinite(X).all() else None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "calibrated_")

    def __sklearn_tags__(self) -> typing.Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._base()).input_tags
        return tags


def _rows(X: Rows, rows: Array) -> Rows:
    """Rows of an array, a sparse matrix, a frame or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "tocsr"):
        return X.tocsr()[rows]
    return np.asarray(X)[rows] if hasattr(X, "__array__") else [X[i] for i in rows]


def _scores(estimator: typing.Any, X: Rows, classes: Array) -> Array:
    """The estimator's scores of rows: a column for each class, or one value for each row of two classes."""
    if hasattr(estimator, "decision_function"):
        scores = np.asarray(estimator.decision_function(X))
        if _decides(estimator, scores, classes):
            return scores
    return np.asarray(estimator.predict_proba(X))


def _decides(estimator: typing.Any, scores: Array, classes: Array) -> bool:
    """Whether scores of this shape are taken from decision_function, which may have a column for each pair of classes."""
    return hasattr(estimator, "decision_function") and (scores.ndim == 1 or scores.shape[1] == len(classes))


def _of_layer(estimator: typing.Any, layer: str, X: Rows) -> Array:
    """The outputs of a layer of the estimator's network for rows (N×M)."""
    import localcal.torch

    if not hasattr(estimator, "module_"):
        raise InputError(f"latent={layer!r} names a layer, and {type(estimator).__name__} holds no network as module_; hand over a callable or a transformer")
    with localcal.torch.listening(estimator.module_, layer) as heard:
        estimator.predict_proba(X)
    return np.concatenate([part.detach().flatten(1).float().cpu().numpy() for part in heard])
