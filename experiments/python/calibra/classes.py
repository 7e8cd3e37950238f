"""Rows as the command takes them: logits N×C, labels 0…C−1."""
from __future__ import annotations

import typing

import numpy as np

from calibra.command import InputError, array, untraced
from calibra.tables import Array, Rows, single_column


def columns(logits: Rows, name: str = "logits", scores: str | None = None) -> Array:
    """logits as N×C; one value for each row (N or N×1), as scikit-learn gives for two classes, as N×2.

    Such values are probabilities of class 1 where all lie in 0…1, and else logits, unless scores says which.
    """
    if hasattr(logits, "tocsr"):
        raise InputError(f"{name} is sparse; sparse input is not supported: hand over an array of numbers")
    logits = array(single_column(logits), name)
    if logits.dtype == object or logits.dtype.kind in "US":
        try:
            logits = logits.astype(float)
        except ValueError as error:
            raise InputError(f"{name} must be numbers: {error}") from None
    if np.iscomplexobj(logits):
        raise InputError(f"Complex data not supported: {name} must be real numbers")
    if single(logits):
        p = logits.ravel()
        if scores == "log-probabilities":
            raise InputError(f"{name} has one value for each row; of log-probabilities, hand over the columns of both classes")
        likely = in_unit_interval(p)
        if scores in ("probabilities", "one-vs-rest") and not likely:
            raise InputError(f"{name} has one value for each row, a probability of class 1, and one of them lies outside 0…1")
        logits = np.column_stack([1 - p if likely and scores != "logits" else np.zeros_like(p), p])
    if logits.ndim != 2:
        raise InputError(f"{name} has the shape {logits.shape}; it must have a row for each case and a column for each class. {_flattened(logits.shape)}")
    return typing.cast(Array, logits)


def _flattened(shape: tuple[int, ...]) -> str:
    """How an array with more axes becomes rows and columns."""
    if len(shape) == 3:
        return "If these are tokens, N×T×C: logits.reshape(-1, C) and y.reshape(-1), without the rows whose label is ignored. Of several outputs, calibrate each by itself"
    if len(shape) == 4:
        return "If these are pixels, N×C×H×W: numpy.moveaxis(logits, 1, -1).reshape(-1, C) and y.reshape(-1), without the rows whose label is ignored"
    return "Reshape your data"


def single(logits: Rows) -> bool:
    """Whether there is one value for each row."""
    shape = np.asarray(untraced(logits)).shape
    return len(shape) == 1 or len(shape) == 2 and shape[1] == 1


def in_unit_interval(values: Array) -> bool:
    """Whether all values lie in 0…1."""
    return bool(values.size == 0 or values.min() >= 0 and values.max() <= 1)


def of_single(values: Rows, scores: str | None) -> str | None:
    """scores, or where nobody says them what one value for each row was read as by columns."""
    if scores is not None or not single(values):
        return scores
    return "probabilities" if in_unit_interval(array(single_column(values), "logits")) else "logits"


def probabilities_of(values: Rows, name: str, scores: str | None = None) -> Array:
    """Probabilities (N×C), to be divided by the sums of their rows, of what scores says; None of probabilities whose rows sum to 1."""
    p = columns(values, name, scores or ("probabilities" if single(values) else None)).astype(np.float64, copy=False)
    if scores in ("logits", "log-probabilities") and len(p):
        p = np.exp(p - p.max(axis=1, keepdims=True))
    sums = p.sum(axis=1)
    scale = np.median(sums) if scores == "probabilities" and len(p) else 1  # percentages too
    free = scores in ("logits", "log-probabilities", "one-vs-rest")
    if len(p) == 0 or p.min() < 0 or not (free or np.all(np.abs(sums - scale) <= 1e-3 * scale)):
        raise InputError(f"{name} must hold at least one row, and in each row probabilities that sum to 1; of others, scores= says what they are: logits, probabilities, log-probabilities or one-vs-rest")
    return typing.cast(Array, np.where(sums[:, None] > 0, p, 1) if scores == "one-vs-rest" else p)


def labels(y: Rows) -> Array:
    """y as an array of numbers or of text (N)."""
    y = array(single_column(y), "y")
    if y.ndim == 2 and y.shape[1] == 1:
        y = y.ravel()
    if y.dtype != object:
        return typing.cast(Array, y)
    if all(isinstance(value, (int, np.integer)) for value in y.ravel().tolist()):
        return typing.cast(Array, y.astype(np.int64))
    if all(isinstance(value, str) for value in y.ravel().tolist()):
        return typing.cast(Array, y.astype(str))
    raise InputError("y holds values that are neither all whole numbers nor all text. Unknown label type: name the classes by numbers or by text")


def soft(y: Rows) -> bool:
    """Whether y holds the probabilities of the classes (N×C)."""
    shape = np.asarray(single_column(y)).shape
    return len(shape) == 2 and shape[1] > 1


def classes_of(y: Rows, count: int) -> Array:
    """The classes of `count` columns: 0…C−1 where y holds such numbers, else its values in order.

    The order is that of an ordered category of pandas, of numbers (also as text), or else of the alphabet.
    """
    if soft(y):
        return np.arange(count)
    found = np.unique(labels(y))
    whole = found.dtype.kind in "iub" or found.dtype.kind == "f" and np.all(found == np.floor(found))
    if found.dtype.kind == "f" and not whole:
        raise InputError(f"y is continuous: it holds {found[found != np.floor(found)][0]}; it must hold a class for each row. Unknown label type: continuous")
    if whole and len(found) and 0 <= found[0] and found[-1] < count:
        return np.arange(count)
    order: typing.Any = getattr(y, "dtype", None)
    if getattr(order, "ordered", False) and len(order.categories) == count:
        return labels(order.categories)
    if found.dtype.kind == "U" and all(value.isdecimal() for value in found.tolist()):
        found = np.array(sorted(found.tolist(), key=int))
        if set(found.tolist()) <= (numbers := set(map(str, range(count)))):
            return np.array(sorted(numbers, key=int))
    if len(found) == count:
        return found
    if whole:
        return np.arange(count)  # and the command says which label is none of them
    raise InputError(f"y holds {len(found)} classes and there are {count} columns; number the classes 0…{count - 1} in the order of the columns")


def numbered(y: Rows, classes: Array) -> Array:
    """The labels as numbers of their classes, or soft as they are; those that are none are left to the command."""
    if soft(y):
        return columns(y, "y")
    y = labels(y)
    if np.array_equal(classes, np.arange(len(classes))) and y.dtype.kind in "iubf":
        whole = y.astype(np.int64) if y.dtype.kind in "fb" else y
        return typing.cast(Array, whole if np.array_equal(whole, y) else y)
    place = {value: k for k, value in enumerate(classes.tolist())}
    for value, k in list(place.items()):
        place.setdefault(str(value), k)  # numbers that y has as text
    strange = [value for value in y.tolist() if value not in place]
    if strange:
        raise InputError(f"y holds {strange[0]!r}, which is none of the classes {classes.tolist()[:10]}")
    return np.array([place[value] for value in y.tolist()], dtype=np.int64)
