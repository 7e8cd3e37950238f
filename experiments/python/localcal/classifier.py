"""A classifier of scikit-learn with calibrated probabilities."""
from __future__ import annotations

import typing
import warnings

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import LeaveOneOut, check_cv
from sklearn.utils import _safe_indexing, column_or_1d, get_tags, indexable
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from localcal.calibrator import Calibrator
from localcal.classes import numbered
from localcal.command import CalibraWarning, InputError
from localcal.tables import Array, Rows

NAMES = {"sigmoid": "ps", "isotonic": "ir", "temperature": "ts"}  # scikit-learn's names of methods

# Methods of whose ensembles the probabilities are averaged: steps, whose probability of a class is 0 where no row of a step has
# it, which one fold's rows do not show of the others', and Platt's sigmoid, as scikit-learn does. Of others their logarithms are.
AVERAGED = ("histogram", "ir", "ps", "venn-abers")

LEAST = float(np.finfo(np.float64).tiny)  # what no probability of another method is below, but by rounding

LARGEST = 300.0  # scores of a decision_function above it are divided by one number: logits 745 apart are a mask


class CalibratedClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier whose probabilities are calibrated by a method of calibra, as CalibratedClassifierCV.

    Parameters
    ----------
    estimator : classifier with decision_function or predict_proba; None is LogisticRegression()
    method : str or None
        The method that is fitted to its scores: "pool", "vq", "ts", or another of `calibra methods --all`; None is
        the recommended method, as for Calibrator. "sigmoid", "isotonic" and "temperature" are "ps", "ir" and "ts", as
        scikit-learn calls them.
    cv : int, splitter, iterable of (train, test), or "prefit"
        How rows are held out: the calibrator sees scores of rows that their estimator was not fitted to.
        With "prefit" the estimator is fitted already, and fit takes rows that it has not seen.
    ensemble : bool
        True keeps an estimator with a calibrator for each fold, and averages their log-probabilities or, of ps, ir,
        histogram and venn-abers, and where a fold's estimator has not seen a class, which has the probability 0 there,
        their probabilities. False keeps one estimator, fitted to all rows, and one
        calibrator of all held-out scores, without rows of a class that their estimator had not seen.
    latent : None, transformer, callable(estimator, X), or str
        The features (N×M) that local methods divide: the output of a transformer for X, or of a callable for
        the fitted estimator and X. A text names a layer of the network that the estimator holds as module_, as
        skorch's do; its outputs are the features. None is X itself, if it holds numbers alone: a missing one
        is the mean of its column in the fit.
        The outputs of a callable or a layer differ from fold to fold, so these need ensemble=True or cv="prefit".
    seed : int
        Seed of the method's draws.
    random_state : int, RandomState, Generator or None
        scikit-learn's name of seed, in its place where it is given.
    n_jobs : int or None
        Folds whose estimators are fitted at a time, as joblib counts them: None is 1, and -1 a fold for each core.
    scores : str or None
        What decision_function or predict_proba gives, as the parameter scores of Calibrator; None is logits of the first, and
        probabilities of the second.
    settings : dict or None
        Settings of the method, as `calibra methods NAME` lists them: {"codebook.slots": 16}.

    Attributes
    ----------
    classes_ : array (C), the columns of predict_proba
    calibrated_classifiers_ : list of fitted estimators with their calibrators, one, or one for each fold
        Each has estimator, calibrator and predict_proba(X).
    n_features_in_ : int
        As the estimator has it, and feature_names_in_ too.

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
        random_state: typing.Any = None,
        n_jobs: int | None = None,
        scores: str | None = None,
        settings: dict[str, typing.Any] | None = None,
    ) -> None:
        self.estimator, self.method, self.cv, self.ensemble = estimator, method, cv, ensemble
        self.latent, self.seed, self.random_state, self.n_jobs = latent, seed, random_state, n_jobs
        self.scores, self.settings = scores, settings

    def fit(self, X: Rows, y: Rows, sample_weight: Rows = None, groups: Rows = None, **params: typing.Any) -> CalibratedClassifier:
        """Fits the estimator, unless it is fitted, and the calibrator.

        With metadata routing the estimator and the splitter are given what they ask for.

        Parameters
        ----------
        X : what the estimator takes, N rows
        y : array of N classes
        sample_weight : array of N numbers, or None
            For the calibrator, and for the estimator; a CalibraWarning says where its fit takes none.
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
        y, (X,) = column_or_1d(y, warn=True), indexable(X)
        if sample_weight is not None and (sample_weight := np.asarray(sample_weight)).shape != y.shape:
            raise InputError(f"sample_weight has the shape {sample_weight.shape}; it must have one number for each of {len(y)} rows")
        fit, split = self._routed(estimator, sample_weight, groups, params)
        latent = self._latent(X)
        if isinstance(self.cv, str):
            if self.cv != "prefit":
                raise InputError(f'cv is {self.cv!r}; it must be "prefit", a number of folds, or a splitter')
            check_is_fitted(estimator)
            self.classes_ = estimator.classes_
            ones, tests = [estimator], [np.arange(len(y))]
        else:
            self.classes_ = np.unique(y)
            if (isinstance(self.latent, str) or callable(self.latent) and not hasattr(self.latent, "transform")) and not self.ensemble:
                raise InputError('latent takes features from the estimator, which differ from fold to fold; choose ensemble=True or cv="prefit"')
            folds = list(self._folds(y).split(X, y, **split))
            tests = [test for _, test in folds]
            ones = list(Parallel(n_jobs=self.n_jobs)(delayed(_fitted)(estimator, X, y, train, fit) for train, _ in folds))
        labels = numbered(y, np.asarray(self.classes_))
        held = [_held(one, _safe_indexing(X, test), labels[test], self.classes_, latent) for one, test in zip(ones, tests)]
        if sample_weight is not None:
            held = [rows._replace(weight=np.asarray(sample_weight)[test]) for rows, test in zip(held, tests)]
        if self.ensemble or isinstance(self.cv, str):
            self.calibrated_classifiers_ = [self._calibrated(one, [rows], latent) for one, rows in zip(ones, held)]
        else:
            last = _fitted(estimator, X, y, np.arange(len(y)), fit)
            self.calibrated_classifiers_ = [self._calibrated(last, held, latent)]
        self.estimator_ = self.calibrated_classifiers_[0].estimator
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def predict_proba(self, X: Rows) -> Array:
        """Calibrated probabilities; of an ensemble, the normalized geometric mean, or the mean as the class says.

        Parameters
        ----------
        X : what the estimator takes, N rows

        Returns
        -------
        array of N×C
        """
        check_is_fitted(self)
        each = [one.predict_proba(X) for one in self.calibrated_classifiers_]
        lacking = any(len(one.columns) < len(self.classes_) for one in self.calibrated_classifiers_)
        if len(each) == 1 or lacking or NAMES.get(self.method or "", self.method) in AVERAGED:
            return typing.cast(Array, np.mean(each, axis=0))
        logs = np.mean([np.log(np.maximum(p, LEAST)) for p in each], axis=0)
        p = np.exp(logs - logs.max(axis=1, keepdims=True))
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
        if sample_weight is not None and not has_fit_parameter(estimator, "sample_weight"):
            said = f"the fit of {type(estimator).__name__} takes no sample_weight; the weights are for the calibrator alone"
            warnings.warn(said, CalibraWarning, stacklevel=3)
            del given["sample_weight"]
        return given, split

    def _folds(self, y: Array) -> typing.Any:
        """The splitter. Each fold of an ensemble has a calibrator, which needs rows of all classes."""
        if self.ensemble:
            least = np.unique(y, return_counts=True)[1].min()
            count = self.cv if isinstance(self.cv, int) else getattr(self.cv, "n_splits", 0)
            if count > least:
                raise InputError(
                    f"Requesting {count}-fold cross-validation but provided less than {count} examples for at least one class; "
                    "choose fewer folds, or ensemble=False"
                )
            if isinstance(self.cv, LeaveOneOut):
                raise InputError(
                    "LeaveOneOut cross-validation does not give a calibrator of an ensemble rows of all classes; "
                    "choose ensemble=False, or fewer folds"
                )
        return check_cv(self.cv, y, classifier=True)

    def _calibrated(self, estimator: typing.Any, held: list[_Held], latent: Latent) -> CalibratedEstimator:
        """The estimator, and a calibrator of held-out rows whose classes the estimators of their folds had seen."""
        columns = numbered(estimator.classes_, np.asarray(self.classes_))
        one = CalibratedEstimator(estimator, columns, len(self.classes_), latent)
        known = np.concatenate([rows.known for rows in held])
        if not known.any():
            raise InputError("a fold's estimator has seen no class of the rows held out; shuffle the rows, or choose another cv")
        if len(columns) == 1:
            return one

        def of(name: str) -> typing.Any:
            parts = [getattr(rows, name) for rows in held]
            return None if parts[0] is None else np.concatenate(parts)[known]

        scores = of("scores")[:, columns]
        # its own estimator gave the scores, so that none are in another scale or order by mistake
        said = self.scores or held[0].said
        if said == "logits":
            one.scale = max(1.0, float(np.abs(scores[np.isfinite(scores)]).max(initial=0)) / LARGEST)
        settings = {key.replace(".", "__"): value for key, value in (self.settings or {}).items()}
        method = NAMES.get(self.method or "", self.method)
        model = Calibrator(
            method, seed=self.seed, random_state=self.random_state, accept_shift=True, scores=said, **settings
        )
        labels, classes = numbered(of("labels"), columns), np.arange(len(columns))
        one.calibrator = model.fit(scores / one.scale, labels, of("features"), sample_weight=of("weight"), classes=classes)
        return one

    def _latent(self, X: Rows) -> Latent:
        if hasattr(self.latent, "transform"):
            return Latent(typing.cast(typing.Any, clone(self.latent)).fit(X), None)
        return Latent(self.latent, _means(X) if self.latent is None else None)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "calibrated_classifiers_")

    def __sklearn_tags__(self) -> typing.Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._base()).input_tags
        return tags


class Latent(typing.NamedTuple):
    """Where features come from: a fitted transformer, a callable, a layer's name, or X with these means for what is missing."""

    of: typing.Any
    means: Array | None

    def features(self, estimator: typing.Any, X: Rows) -> Array | None:
        """The features of rows (N×M); None where there are none."""
        if self.of is None:
            return None if self.means is None else _filled(np.asarray(X), self.means)
        if hasattr(self.of, "transform"):
            X = self.of.transform(X)
        else:
            X = _of_layer(estimator, self.of, X) if isinstance(self.of, str) else self.of(estimator, X)
        return typing.cast(Array, X.toarray() if hasattr(X, "toarray") else np.asarray(X))


class CalibratedEstimator:
    """A fitted estimator with the calibrator of its scores."""

    def __init__(self, estimator: typing.Any, columns: Array, count: int, latent: Latent) -> None:
        self.estimator, self.columns, self.count, self.latent = estimator, columns, count, latent
        self.calibrator: Calibrator | None = None  # of one class, whose probability is 1
        self.scale = 1.0  # that logits are divided by

    def predict_proba(self, X: Rows) -> Array:
        """Calibrated probabilities (N×C), 0 of a class that the estimator has not seen."""
        scores, _ = _scores(self.estimator, X)
        p = np.zeros((len(scores), self.count))
        if self.calibrator is None:
            p[:, self.columns] = 1
        else:
            features = self.latent.features(self.estimator, X)
            p[:, self.columns] = self.calibrator.predict_proba(scores / self.scale, features)
        return p


class _Held(typing.NamedTuple):
    """Held-out rows, whose scores the estimator of a fold gave."""

    scores: Array  # N×C; −∞, or the probability 0, of a class that it has not seen
    labels: Array  # N
    features: Array | None  # N×M
    known: Array  # N, whether it has seen the class of the row
    said: str  # what the scores are
    weight: Array | None = None  # N


def _held(estimator: typing.Any, X: Rows, labels: Array, classes: Array, latent: Latent) -> _Held:
    scores, said = _scores(estimator, X)
    columns = numbered(estimator.classes_, np.asarray(classes))
    wide = np.full((len(scores), len(classes)), -np.inf if said == "logits" else 0.0)
    wide[:, columns] = scores
    return _Held(wide, labels, latent.features(estimator, X), np.isin(labels, columns), said)


def _fitted(estimator: typing.Any, X: Rows, y: Array, train: Array, params: dict[str, Rows]) -> typing.Any:
    """The estimator, fitted to some rows."""
    of_rows = {name for name, value in params.items() if hasattr(value, "__len__") and len(value) == len(y)}
    some = {name: _safe_indexing(value, train) if name in of_rows else value for name, value in params.items()}
    one = typing.cast(typing.Any, clone(estimator)).fit(_safe_indexing(X, train), y[train], **some)
    if not hasattr(one, "classes_"):
        raise InputError(f"{type(estimator).__name__} is no classifier: it has no classes_ after fit")
    return one


def _scores(estimator: typing.Any, X: Rows) -> tuple[Array, str]:
    """The estimator's scores of rows, a column for each of its classes, and what they are."""
    if hasattr(estimator, "decision_function"):
        scores = np.asarray(estimator.decision_function(X))
        if scores.ndim == 1:
            return np.column_stack([np.zeros_like(scores), scores]), "logits"
        if scores.shape[1] == len(estimator.classes_):  # and not one for each pair of them
            return scores, "logits"
    return np.asarray(estimator.predict_proba(X)), "probabilities"


def _means(X: Rows) -> Array | None:
    """The means of the columns of X without missing numbers, 0 where all are missing; None of what holds no numbers alone."""
    if hasattr(X, "tocsr"):
        return None
    try:
        X = np.asarray(X)
    except ValueError:  # rows of several lengths
        return None
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        return None
    there = np.isfinite(X)
    return typing.cast(Array, np.where(there, X, 0).sum(axis=0) / np.maximum(there.sum(axis=0), 1))


def _filled(X: Array, means: Array) -> Array:
    there = np.isfinite(X)
    return X if there.all() else typing.cast(Array, np.where(there, X, means))


def _of_layer(estimator: typing.Any, layer: str, X: Rows) -> Array:
    """The outputs of a layer of the estimator's network for rows (N×M)."""
    if not hasattr(estimator, "module_"):
        raise InputError(f"latent={layer!r} names a layer, and {type(estimator).__name__} holds no network as module_; hand over a callable or a transformer")
    import localcal.torch

    with localcal.torch.listening(estimator.module_, layer) as heard:
        estimator.predict_proba(X)
    return np.concatenate([part.detach().flatten(1).float().cpu().numpy() for part in heard])
