"""Metrics as functions of labels and probabilities, ready for make_scorer of scikit-learn.

    from sklearn.metrics import make_scorer
    scorer = make_scorer(localcal.metrics.nll, response_method="predict_proba", greater_is_better=False)

    local = make_scorer(localcal.metrics.lce, response_method="predict_proba", greater_is_better=False)
    local.set_score_request(features=True)       # with metadata routing, for the metric alone

scikit-learn hands no metadata to predict_proba inside a scorer: a Calibrator whose method needs features takes them from columns of X
there, Calibrator(features=[…]).

Each takes y_true (N classes, or N×C their probabilities), y_prob (N×C, or N of the second class) and sample_weight
(N), and is lower for better probabilities. classes are those of the columns; without them they are the columns'
names, the integers, or the order of the names in y_true that fits the columns, if the rows tell it. The losses and the errors of bins are computed here, in numpy, and equal those of
`calibra evaluate` to 1e-9 where it has them. The command computes smece, the local metrics, the metric of groups, noise floors and the
parts of a score.
"""
from __future__ import annotations

import typing
import warnings

import numpy as np

from localcal import judging
from localcal.classes import classes_of, in_another_order, numbered, probabilities_of, soft
from localcal.command import CalibraWarning, InputError, array
from localcal.tables import Array, Rows, column_names, single_column

__all__ = ["adaptive_ece", "brier", "classwise_ece", "classwise_mce", "decompose", "ecce", "ece", "ess", "lce", "losses", "mce", "mlce", "multicalibration_error", "nll", "noise", "rmsce", "smece"]

LEAST = 1e-12  # what a probability below costs, as the command's one floor has it
BINS = 15
KEYS = {"ece": "ece_top", "classwise_ece": "ece", "classwise_mce": "mce", "smece": "smece_top"}  # that `calibra evaluate` has for them
BLOCK = 4096  # rows


class _Sample(typing.NamedTuple):
    p: Array  # N×C as they were given, to be divided by the sums of their rows where they are used
    sums: Array  # N
    y: Array  # N numbers of classes, or N×C shares of them
    weight: Array  # N, of sum 1

    def at(self, columns: Array) -> Array:
        """The probabilities of one column of each row (N)."""
        return typing.cast(Array, self.p[np.arange(len(self.p)), columns] / self.sums)


def nll(y_true: Rows, y_prob: Rows, *, sample_weight: Rows = None, classes: Rows = None, scores: str | None = None) -> float:
    """Negative log-likelihood in nats: Σ_i w_i Σ_c −q_ic log p_ic.

    Parameters
    ----------
    y_true : array of N classes, or N×C of their probabilities
    y_prob : array of N×C probabilities, or N of the second class
    sample_weight : array of N numbers, or None
        Weights of the rows; None is 1 each.
    classes : array of C classes, or None
        Classes of the columns; None takes the columns' names, the integers, or the order of names that fits, and asks where the rows do not tell.
    scores : {"logits", "probabilities", "log-probabilities", "one-vs-rest"} or None
        What y_prob holds; None is probabilities whose rows sum to 1.

    Returns
    -------
    float
        In nats. A probability below 1e-12 counts as 1e-12.

    Examples
    --------
    >>> import localcal.metrics
    >>> round(localcal.metrics.nll([0, 1], [[0.5, 0.5], [0.25, 0.75]]), 4)
    0.4904
    """
    sample = _sample(y_true, y_prob, sample_weight, classes, scores)
    return float(sample.weight @ _nll(sample))


def brier(y_true: Rows, y_prob: Rows, *, sample_weight: Rows = None, classes: Rows = None, scores: str | None = None) -> float:
    """Brier score, the sum over classes: Σ_i w_i Σ_c q_ic (1 − p_ic)² + (1 − q_ic) p_ic².

    Parameters
    ----------
    y_true : array of N classes, or N×C of their probabilities
    y_prob : array of N×C probabilities, or N of the second class
    sample_weight : array of N numbers, or None
        Weights of the rows; None is 1 each.
    classes : array of C classes, or None
        Classes of the columns; None takes the columns' names, the integers, or the order of names that fits, and asks where the rows do not tell.
    scores : {"logits", "probabilities", "log-probabilities", "one-vs-rest"} or None
        What y_prob holds; None is probabilities whose rows sum to 1.

    Returns
    -------
    float
        From 0 to 2.

    Examples
    --------
    >>> import localcal.metrics
    >>> round(localcal.metrics.brier([0, 1], [[0.6, 0.4], [0.3, 0.7]]), 4)
    0.25
    """
    sample = _sample(y_true, y_prob, sample_weight, classes, scores)
    return float(sample.weight @ _brier(sample))


def losses(y_true: Rows, y_prob: Rows, *, score: str = "nll", classes: Rows = None, scores: str | None = None) -> Array:
    """The loss of each row, whose mean is nll or brier: for tests of one's own, as of the differences of two models' losses.

    Parameters
    ----------
    y_true : array of N classes, or N×C of their probabilities
    y_prob : array of N×C probabilities, or N of the second class
    score : {"nll", "brier"}
    classes : array of C classes, or None
        Classes of the columns; None takes the columns' names, the integers, or the order of names that fits, and asks where the rows do not tell.
    scores : {"logits", "probabilities", "log-probabilities", "one-vs-rest"} or None
        What y_prob holds; None is probabilities whose rows sum to 1.

    Returns
    -------
    array of N numbers

    Examples
    --------
    >>> import localcal.metrics
    >>> localcal.metrics.losses([0, 1], [[0.6, 0.4], [0.3, 0.7]], score="brier").round(2)
    array([0.32, 0.18])
    """
    if score not in ("nll", "brier"):
        raise InputError(f'score must be "nll" or "brier", not {score!r}')
    return (_nll if score == "nll" else _brier)(_sample(y_true, y_prob, None, classes, scores))


def ece(y_true: Rows, y_prob: Rows, *, sample_weight: Rows = None, classes: Rows = None, scores: str | None = None, bins: int = BINS, excess: bool = False) -> float:
    """ECE, the expected calibration error of the most probable class: Σ_b |Σ_{i∈B_b} w_i (conf_i − hit_i)|, Naeini et al. 2015.

    It is the key ece_top of `calibra evaluate`. A FutureWarning says that it is no longer the class-wise error, until the next version.

    Parameters
    ----------
    y_true : array of N classes, or N×C of their probabilities
    y_prob : array of N×C probabilities, or N of the second class
    sample_weight : array of N numbers, or None
        Weights of the rows; None is 1 each.
    classes : array of C classes, or None
        Classes of the columns; None takes the columns' names, the integers, or the order of names that fits, and asks where the rows do not tell.
    scores : {"logits", "probabilities", "log-probabilities", "one-vs-rest"} or None
        What y_prob holds; None is probabilities whose rows sum to 1.
    bins : int
        How many of equal width lie between 0 and 1.
    excess : bool
        Whether to take off what a calibrated model's would be, the mean noise floor, which the command draws.

    Returns
    -------
    float
        0 or more; a calibrated model's is above 0, as noise("ece", …) says.

    Examples
    --------
    >>> import localcal.metrics
    >>> round(localcal.metrics.ece([0, 1], [[0.6, 0.4], [0.3, 0.7]]), 4)
    0.35
    """
    _renamed("ece")
    weight, residual = _top_gaps(_sample(y_true, y_prob, sample_weight, classes, scores), bins)
    value = float(np.abs(residual).sum())
    if not excess:
        return value
    return value - noise("ece", y_true, y_prob, sample_weight=sample_weight, classes=classes, scores=scores, bins=bins).mean


def rmsce(y_true: Rows, y_prob: Rows, *, sample_weight: Rows = None, classes: Rows = None, scores: str | None = None, bins: int = BINS) -> float:
    """Root mean square calibration error of the most probable class: √(Σ_b W_b gap_b²), gap_b = (Σ_{i∈B_b} w_i (conf_i − hit_i)) / W_b.

    Parameters
    ----------
    y_true : array of N classes, or N×C of their probabilities
    y_prob : array of N×C probabilities, or N of the second class
    sample_weight : array of N numbers, or None
        Weights of the rows; None is 1 each.
    classes : array of C classes, or None
        Classes of the columns; None takes the columns' names, the integers, or the order of names that fits, and asks where the rows do not tell.
    scores : {"logits", "probabilities", "log-probabilities", "one-vs-rest"} or None
        What y_prob holds; None is probabilities whose rows sum to 1.
    bins : int
        How many of equal width lie between 0 and 1.

    Returns
    -------
    float
        0 or more, and not below ece.

    Examples
    --------
    >>> import localcal.metrics
    >>> round(localcal.metrics.rmsce([0, 1], [[0.6, 0.4], [0.3, 0.7]]), 4)
    0.3536
    """
    weight, residual = _top_gaps(_sample(y_true, y_prob, sample_weight, classes, scores), bins)
    return float(np.sqrt((residual[weight > 0] ** 2 / weight[weight > 0]).sum()))


def mce(y_true: Rows, y_prob: Rows, *, sample_weight: Rows = None, classes: Rows = None, scores: str | None = None, bins: int = BINS) -> float:
    """Maximal calibration error of the most probable class: max_b |gap_b|, gap_b as in rmsce.

    A FutureWarning says that it is no longer the class-wise error, until the next version.

    Parameters
    ----------
    y_true : array of N classes, or N×C of their probabilities
    y_prob : array of N×C probabilities, or N of the second class
    sample_weight : array of N numbers, or None
        Weights of the rows; None is 1 each.
    classes : array of C classes, or None
        Classes of the columns; None takes the columns' names, the integers, or the order of names that fits, and asks where the rows do not tell.
    scores : {"logits", "probabilities", "log-probabilities", "one-vs-rest"} or None
        What y_prob holds; None is probabilities whose rows sum to 1.
    bins : int
        How many of equal width lie between 0 and 1.

    Returns
    -------
    float
        0 or more, and large where a bin has few rows.

    Examples
    --------
    >>> import localcal.metrics
    >>> round(localcal.metrics.mce([0, 1], [[0.6, 0.4], [0.3, 0.7]]), 4)
    0.4
    """
    _renamed("mce")
    weight, residual = _top_gaps(_sample(y_true, y_prob, sample_weight, classes, scores), bins)
    return float(np.max(np.abs(residual[weight > 0]) / weight[weight > 0]))


def adaptive_ece(y_true: Rows, y_prob: Rows, *, sample_weight: Rows = None, classes: Rows = None, scores: str | None = None, bins: int = BINS) -> float:
    """ECE of the most probable class in bins of equal weight, Nguyen and O'Connor 2015: the adaptive calibration error.

    Row i is in bin ⌊bins · W_i⌋, where W_i is the weight of all rows of less confidence. Rows of one confidence are in one bin.

    Parameters
    ----------
    y_true : array of N classes, or N×C of their probabilities
    y_prob : array of N×C probabilities, or N of the second class
    sample_weight : array of N numbers, or None
        Weights of the rows; None is 1 each.
    classes : array of C classes, or None
        Classes of the columns; None takes the columns' names, the integers, or the order of names that fits, and asks where the rows do not tell.
    scores : {"logits", "probabilities", "log-probabilities", "one-vs-rest"} or None
        What y_prob holds; None is probabilities whose rows sum to 1.
    bins : int
        How many there are, each of as many rows.

    Returns
    -------
    float
        0 or more.

    Examples
    --------
    >>> import localcal.metrics
    >>> round(localcal.metrics.adaptive_ece([0, 1], [[0.6, 0.4], [0.3, 0.7]]), 4)
    0.35
    """
    confidence, hit, w = _top(_sample(y_true, y_prob, sample_weight, classes, scores))
    _, group = np.unique(confidence, return_inverse=True)
    mass = np.bincount(group, w)
    below = (np.cumsum(mass) - mass)[group]
    place = np.minimum((below * bins + 1e-9).astype(np.int64), bins - 1)  # a sum of N weights is off by less
    return float(np.abs(np.bincount(place, w * (confidence - hit))).sum())


def smece(y_true: Rows, y_prob: Rows, *, sample_weight: Rows = None, classes: Rows = None, excess: bool = False, **options: typing.Any) -> float:
    """Smooth calibration error of the most probable class, Błasiok and Nakkiran 2023, as relplot computes it: no bins.

    Parameters
    ----------
    y_true : array of N classes, or N×C of their probabilities
    y_prob : array of N×C probabilities, or N of the second class
    sample_weight : array of N numbers, or None
        Weights of the rows; None is 1 each.
    classes : array of C classes, or None
        Classes of the columns; None takes the columns' names, the integers, or the order of names that fits, and asks where the rows do not tell.
    excess : bool
        Whether to take off what a calibrated model's would be, the mean noise floor.
    **options
        Flags of `calibra evaluate`, such as scores="logits".

    Returns
    -------
    float
        0 or more; a calibrated model's is above 0, as noise("smece", …) says.

    Examples
    --------
    >>> import localcal.metrics
    >>> round(localcal.metrics.smece([0, 1, 1, 0], [[0.6, 0.4], [0.3, 0.7], [0.2, 0.8], [0.9, 0.1]]), 2)
    0.25
    """
    if excess:
        return noise("smece", y_true, y_prob, sample_weight=sample_weight, classes=classes, **options).excess
    return _measured("smece", y_true, y_prob, None, sample_weight, classes, redraws=0, **options).value


def classwise_ece(y_true: Rows, y_prob: Rows, *, sample_weight: Rows = None, classes: Rows = None, scores: str | None = None, bins: int = BINS, excess: bool = False) -> float:
    """Class-wise expected calibration error, the key ece of `calibra evaluate`: 1/C Σ_c Σ_b |Σ_{i∈B_bc} w_i (p_ic − q_ic)|, Kull et al. 2019.

    Parameters
    ----------
    y_true : array of N classes, or N×C of their probabilities
    y_prob : array of N×C probabilities, or N of the second class
    sample_weight : array of N numbers, or None
        Weights of the rows; None is 1 each.
    classes : array of C classes, or None
        Classes of the columns; None takes the columns' names, the integers, or the order of names that fits, and asks where the rows do not tell.
    scores : {"logits", "probabilities", "log-probabilities", "one-vs-rest"} or None
        What y_prob holds; None is probabilities whose rows sum to 1.
    bins : int
        How many of equal width lie between 0 and 1.
    excess : bool
        Whether to take off what a calibrated model's would be, the mean noise floor, which the command draws.

    Returns
    -------
    float
        0 or more; a calibrated model's is above 0, as noise("classwise_ece", …) says.

    Examples
    --------
    >>> import localcal.metrics
    >>> round(localcal.metrics.classwise_ece([0, 1], [[0.6, 0.4], [0.3, 0.7]]), 4)
    0.35
    """
    sample = _sample(y_true, y_prob, sample_weight, classes, scores)
    value = float(np.mean([np.abs(residual).sum() for _, residual in _gaps(sample, bins)]))
    if not excess:
        return value
    return value - noise("classwise_ece", y_true, y_prob, sample_weight=sample_weight, classes=classes, scores=scores, bins=bins).mean


def classwise_mce(y_true: Rows, y_prob: Rows, *, sample_weight: Rows = None, classes: Rows = None, scores: str | None = None, bins: int = BINS) -> float:
    """Class-wise maximal calibration error, the key mce of `calibra evaluate`: 1/C Σ_c max_b |freq_c(B_bc) − conf_c(B_bc)|.

    Parameters
    ----------
    y_true : array of N classes, or N×C of their probabilities
    y_prob : array of N×C probabilities, or N of the second class
    sample_weight : array of N numbers, or None
        Weights of the rows; None is 1 each.
    classes : array of C classes, or None
        Classes of the columns; None takes the columns' names, the integers, or the order of names that fits, and asks where the rows do not tell.
    scores : {"logits", "probabilities", "log-probabilities", "one-vs-rest"} or None
        What y_prob holds; None is probabilities whose rows sum to 1.
    bins : int
        How many of equal width lie between 0 and 1.

    Returns
    -------
    float
        0 or more; a calibrated model's is above 0, as noise("classwise_mce", …) says.

    Examples
    --------
    >>> import localcal.metrics
    >>> round(localcal.metrics.classwise_mce([0, 1], [[0.6, 0.4], [0.3, 0.7]]), 4)
    0.4
    """
    sample = _sample(y_true, y_prob, sample_weight, classes, scores)
    return float(np.mean([np.max(np.abs(residual[weight > 0]) / weight[weight > 0]) for weight, residual in _gaps(sample, bins)]))


def ecce(y_true: Rows, y_prob: Rows, *, sample_weight: Rows = None, classes: Rows = None, scores: str | None = None, bins: int = BINS) -> float:
    """Expected cumulative calibration error: 1/C Σ_c of the mean over bins with rows of |Σ_{a≤b} residual_ac|.

    Parameters
    ----------
    y_true : array of N classes, or N×C of their probabilities
    y_prob : array of N×C probabilities, or N of the second class
    sample_weight : array of N numbers, or None
        Weights of the rows; None is 1 each.
    classes : array of C classes, or None
        Classes of the columns; None takes the columns' names, the integers, or the order of names that fits, and asks where the rows do not tell.
    scores : {"logits", "probabilities", "log-probabilities", "one-vs-rest"} or None
        What y_prob holds; None is probabilities whose rows sum to 1.
    bins : int
        How many of equal width lie between 0 and 1.

    Returns
    -------
    float
        0 or more; a calibrated model's is above 0, as noise("ecce", …) says.

    Examples
    --------
    >>> import localcal.metrics
    >>> round(localcal.metrics.ecce([0, 1], [[0.6, 0.4], [0.3, 0.7]]), 4)
    0.1125
    """
    sample = _sample(y_true, y_prob, sample_weight, classes, scores)
    return float(np.mean([np.abs(np.cumsum(residual)[weight > 0]).mean() for weight, residual in _gaps(sample, bins)]))


def lce(y_true: Rows, y_prob: Rows, features: Rows, *, sample_weight: Rows = None, classes: Rows = None, **options: typing.Any) -> float:
    """Local calibration error in the principal components of the features, Luo et al. 2022.

    Parameters
    ----------
    y_true : array of N classes, or N×C of their probabilities
    y_prob : array of N×C probabilities, or N of the second class
    features : array of N×M
        The errors are measured in their principal components.
    sample_weight : array of N numbers, or None
        Weights of the rows; None is 1 each.
    classes : array of C classes, or None
        Classes of the columns; None takes the columns' names, the integers, or the order of names that fits, and asks where the rows do not tell.
    **options
        Flags of `calibra evaluate`, such as bandwidth=5 or protocol="formula".

    Returns
    -------
    float
        0 or more; a calibrated model's is above 0, as noise("lce", …) says.

    Examples
    --------
    >>> import localcal.metrics
    >>> import numpy as np
    >>> y, p = np.arange(100) % 2, np.full((100, 2), 0.5)
    >>> round(localcal.metrics.lce(y, p, features=y[:, None]), 4)
    0.005
    """
    return _measured("lce", y_true, y_prob, features, sample_weight, classes, redraws=0, **options).value


def mlce(y_true: Rows, y_prob: Rows, features: Rows, *, sample_weight: Rows = None, classes: Rows = None, **options: typing.Any) -> float:
    """Maximal local calibration error, as lce.

    Parameters
    ----------
    y_true : array of N classes, or N×C of their probabilities
    y_prob : array of N×C probabilities, or N of the second class
    features : array of N×M
        The errors are measured in their principal components.
    sample_weight : array of N numbers, or None
        Weights of the rows; None is 1 each.
    classes : array of C classes, or None
        Classes of the columns; None takes the columns' names, the integers, or the order of names that fits, and asks where the rows do not tell.
    **options
        Flags of `calibra evaluate`, such as bandwidth=5 or protocol="formula".

    Returns
    -------
    float
        0 or more; a calibrated model's is above 0, as noise("mlce", …) says.

    Examples
    --------
    >>> import localcal.metrics
    >>> import numpy as np
    >>> y, p = np.arange(100) % 2, np.full((100, 2), 0.5)
    >>> round(localcal.metrics.mlce(y, p, features=y[:, None]), 4)
    0.005
    """
    return _measured("mlce", y_true, y_prob, features, sample_weight, classes, redraws=0, **options).value


def ess(y_true: Rows, y_prob: Rows, features: Rows, *, sample_weight: Rows = None, classes: Rows = None, **options: typing.Any) -> float:
    """Effective sample size of the neighbourhoods that lce takes its means over, on average over rows and classes.

    It is (Σ_j K_ij)²/Σ_j K_ij² over the other rows j of the bin. Where it is small, lce is noisy; where it is near the number of rows
    of a bin, lce is nearly a global error. It is the mean of the profile ess_profile of `calibra evaluate`.

    Parameters
    ----------
    y_true : array of N classes, or N×C of their probabilities
    y_prob : array of N×C probabilities, or N of the second class
    features : array of N×M
        The errors are measured in their principal components.
    sample_weight : array of N numbers, or None
        Weights of the rows; None is 1 each.
    classes : array of C classes, or None
        Classes of the columns; None takes the columns' names, the integers, or the order of names that fits, and asks where the rows do not tell.
    **options
        Flags of `calibra evaluate`, such as bandwidth=5 or protocol="formula".

    Returns
    -------
    float
        A number of rows.

    Examples
    --------
    >>> import localcal.metrics
    >>> import numpy as np
    >>> y, p = np.arange(100) % 2, np.full((100, 2), 0.5)
    >>> round(localcal.metrics.ess(y, p, features=y[:, None]), 1)
    99.0
    """
    if features is None:
        raise InputError("ess is measured in features; hand them over")
    said = judging.evaluate(y_prob, y_true, features, sample_weight=sample_weight, classes=classes, replicates=0, redraws=0, folds=0, **options)
    if "ess_profile" not in said.report:
        raise InputError("ess needs a bin of rows that is not skipped as too small; set small_bin=0")
    profile = said.report["ess_profile"]
    return float(np.average(profile["ess"], weights=profile["count"]))


def multicalibration_error(y_true: Rows, y_prob: Rows, groups: Rows, *, sample_weight: Rows = None, classes: Rows = None, scores: str | None = None) -> float:
    """Multicalibration error over groups: Guy et al. 2025, as MCGrad has it.

    Parameters
    ----------
    y_true : array of N classes, or N×C of their probabilities
    y_prob : array of N×C probabilities, or N of the second class
    groups : array of N names or numbers
    sample_weight : array of N numbers, or None
        Weights of the rows; None is 1 each.
    classes : array of C classes, or None
        Classes of the columns; None takes the columns' names, the integers, or the order of names that fits, and asks where the rows do not tell.
    scores : {"logits", "probabilities", "log-probabilities", "one-vs-rest"} or None
        What y_prob holds; None is probabilities whose rows sum to 1.

    Returns
    -------
    float
        The error of the worst group and class, as a difference of probabilities.

    Examples
    --------
    >>> import localcal.metrics
    >>> import numpy as np
    >>> y, p = np.arange(100) % 2, np.full(100, 0.5)
    >>> localcal.metrics.multicalibration_error(y, p, groups=y) > localcal.metrics.multicalibration_error(y, p, groups=0 * y)
    True
    """
    if groups is None:
        raise InputError("multicalibration_error is measured in groups; hand them over")
    said = judging.evaluate(y_prob, y_true, sample_weight=sample_weight, classes=classes, groups=groups, scores=scores, replicates=0, redraws=0, folds=0)
    return float(said.report["multicalibration"]["error"])


def decompose(y_true: Rows, y_prob: Rows, *, score: str = "nll", sample_weight: Rows = None, classes: Rows = None, **options: typing.Any) -> judging.Decomposition:
    """The parts of a proper score: miscalibration − discrimination + uncertainty (CORP, Dimitriadis et al. 2021).

    Isotonic regression of each class on its probability recalibrates the same rows. Miscalibration is how much this lowers the score.
    Uncertainty is the score of the class shares alone, and discrimination is how much lower the recalibrated score is than that. With
    two classes this is CORP itself. With more, the Brier score is the sum over the classes, each against the rest, and for the NLL the
    recalibrated probabilities of a row are divided by their sum.

    Parameters
    ----------
    y_true : array of N classes, or N×C of their probabilities
    y_prob : array of N×C probabilities, or N of the second class
    score : {"nll", "brier"}
    sample_weight : array of N numbers, or None
        Weights of the rows; None is 1 each.
    classes : array of C classes, or None
        Classes of the columns; None takes the columns' names, the integers, or the order of names that fits, and asks where the rows do not tell.
    **options
        Flags of `calibra evaluate`, such as replicates=1000 or seed=1.

    Returns
    -------
    Decomposition
        Each part a Metric with an interval; the miscalibration with its noise floor, which is above 0, as the curves are fitted to
        the rows that they are judged on.

    Examples
    --------
    >>> import localcal.metrics
    >>> import numpy as np
    >>> y = np.arange(200) % 2
    >>> parts = localcal.metrics.decompose(y, np.where(y, 0.7, 0.2), score="brier")
    >>> round(parts.miscalibration.value - parts.discrimination.value + parts.uncertainty.value, 4)
    0.13
    """
    if score not in ("nll", "brier"):
        raise InputError(f'score must be "nll" or "brier", not {score!r}')
    return judging.evaluate(y_prob, y_true, sample_weight=sample_weight, classes=classes, folds=0, **options).decomposition[score]


def noise(metric: str, y_true: Rows, y_prob: Rows, features: Rows = None, *, sample_weight: Rows = None, classes: Rows = None, **options: typing.Any) -> judging.Floor:
    """The noise floor of a metric: what it shows where labels are redrawn from the probabilities, of calibrated ones.

    Parameters
    ----------
    metric : str
        Its name here, or its key in `calibra evaluate`: "ece", "smece", "lce", …
    y_true : array of N classes, or N×C of their probabilities
    y_prob : array of N×C probabilities, or N of the second class
    features : array of N×M, or None
        Those of the local metrics.
    sample_weight : array of N numbers, or None
        Weights of the rows; None is 1 each.
    classes : array of C classes, or None
        Classes of the columns; None takes the columns' names, the integers, or the order of names that fits, and asks where the rows do not tell.
    **options
        Flags of `calibra evaluate`, such as bandwidth=5 or protocol="formula".

    Returns
    -------
    Floor

    Examples
    --------
    >>> import numpy as np, localcal.metrics
    >>> y, p = np.arange(200) % 2, np.full((200, 2), 0.5)
    >>> localcal.metrics.ece(y, p) < localcal.metrics.noise("ece", y, p).mean
    True
    """
    floor = _measured(metric, y_true, y_prob, features, sample_weight, classes, **options).floor
    if floor is None:
        raise InputError(f"{metric} has no noise floor here")
    return floor


def _measured(metric: str, y: Rows, p: Rows, features: Rows, sample_weight: Rows, classes: Rows, **options: typing.Any) -> judging.Metric:
    if features is None and metric in ("lce", "mlce"):
        raise InputError(f"{metric} is measured in features; hand them over")
    said = judging.evaluate(p, y, features, sample_weight=sample_weight, classes=classes, replicates=0, folds=0, **options)
    known, key = dict(said.metrics), KEYS.get(metric, metric)
    if "smece_top" in said.report:
        known["smece_top"] = judging.metric_of(said.report["smece_top"])
    if key not in known:
        names = [*KEYS, *sorted(set(known) - set(KEYS.values()))]
        raise InputError(f"{metric} is no metric of calibra evaluate; there are {', '.join(names)}")
    return known[key]


def _renamed(name: str) -> None:
    """A name that meant the class-wise metric before."""
    said = f"metrics.{name} is that of the most probable class, as in other libraries; the class-wise one is metrics.classwise_{name}"
    warnings.warn(f"{said}. The next version says this no more", FutureWarning, stacklevel=3)


def __getattr__(name: str) -> typing.Any:
    if name == "ece_top":
        warnings.warn("metrics.ece_top is metrics.ece; the next version has the one name alone", FutureWarning, stacklevel=2)
        return ece
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _sample(y_true: Rows, y_prob: Rows, sample_weight: Rows, classes: Rows, scores: str | None) -> _Sample:
    names = column_names(y_prob)
    p = probabilities_of(array(single_column(y_prob), "y_prob"), "y_prob", scores)
    sums = p.sum(axis=1)
    classes = classes_of(y_true, p, classes, names)
    y = numbered(y_true, classes)
    if len(y) != len(p):
        raise InputError(f"y_true has {len(y)} rows and y_prob has {len(p)}; they must be of the same rows")
    if not soft(y) and (y.min() < 0 or y.max() >= p.shape[1] or y.dtype.kind not in "iu"):
        raise InputError(f"y_true must hold whole numbers in 0…{p.shape[1] - 1}, or name the classes of the columns by classes=")
    if not soft(y) and in_another_order(p, y):
        warnings.warn("the labels seem to number the classes in another order than the columns of y_prob do; number them by the columns, or name the columns by classes=", CalibraWarning, stacklevel=3)
    w = np.ones(len(p)) if sample_weight is None else array(single_column(sample_weight), "sample_weight").astype(np.float64)
    if w.shape != (len(p),) or not np.all(w >= 0) or w.sum() == 0:
        raise InputError(f"sample_weight must be {len(p)} numbers of 0 or more, not all 0")
    return _Sample(p, sums, y / y.sum(axis=1, keepdims=True) if soft(y) else y, w / w.sum())


def _nll(sample: _Sample) -> Array:
    """−Σ_c q_ic log p_ic (N)."""
    p, sums, y, _ = sample
    if y.ndim == 1:
        return typing.cast(Array, -np.log(np.maximum(sample.at(y), LEAST)))
    return typing.cast(Array, np.where(y > 0, -y * np.log(np.maximum(p / sums[:, None], LEAST)), 0).sum(axis=1))


def _brier(sample: _Sample) -> Array:
    """Σ_c q_ic (1 − p_ic)² + (1 − q_ic) p_ic² (N)."""
    p, sums, y, _ = sample
    if y.ndim == 1:
        return typing.cast(Array, np.einsum("ic,ic->i", p, p) / sums**2 - 2 * sample.at(y) + 1)
    return typing.cast(Array, ((p / sums[:, None] - y) ** 2 + y * (1 - y)).sum(axis=1))


def _top(sample: _Sample) -> tuple[Array, Array, Array]:
    """The confidence of each row's most probable class, the share of its label in it, and the weight (N each)."""
    top = sample.p.argmax(axis=1)
    y = sample.y
    return sample.at(top), (y == top if y.ndim == 1 else y[np.arange(len(top)), top]).astype(np.float64), sample.weight


def _top_gaps(sample: _Sample, bins: int) -> tuple[Array, Array]:
    """_gaps of the most probable class."""
    confidence, hit, w = _top(sample)
    return _gaps(_Sample(confidence[:, None], np.ones(len(w)), hit[:, None], w), bins)[0]


def _gaps(sample: _Sample, bins: int) -> list[tuple[Array, Array]]:
    """For each column the weight of its bins of equal width, and Σ_{i∈B_b} w_i (p_i − q_i)."""
    if bins < 1:
        raise InputError(f"bins is {bins}; there must be at least one")
    classes = range(sample.p.shape[1])
    gaps = np.zeros((len(classes), 2, bins))
    for at in range(0, len(sample.p), BLOCK):  # whose arrays stay in the processor's cache
        p, sums, y, w = (values[at : at + BLOCK] for values in sample)
        p = p / sums[:, None]
        # a probability so near below an edge counts as on it, as experiments/internal/checked.OnEdge says
        near = p + p * 2.0**-18 * np.minimum(1, 100 * np.maximum(0, 1 - p)) + 1e-12
        place = np.clip((near * bins).astype(np.int64), 0, bins - 1)
        for c in classes:
            share = y == c if y.ndim == 1 else y[:, c]
            gaps[c] += np.bincount(place[:, c], w, bins), np.bincount(place[:, c], w * (p[:, c] - share), bins)
    return [(weight, residual) for weight, residual in gaps]
