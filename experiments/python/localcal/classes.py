"""Rows as the command takes them: logits N×C, labels 0…C−1."""
from __future__ import annotations

import re
import statistics
import typing
import warnings

import numpy as np

from localcal.command import CalibraWarning, InputError, array, untraced, write
from localcal.tables import Array, Rows, column_names, single_column
from localcal.worker import working


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
        if likely and scores != "logits":
            p = np.clip(p, 0, 1)
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
    """Whether all values lie in 0…1, but for rounding."""
    return bool(values.size == 0 or values.min() >= 0 and values.max() <= 1 + 1e-4)


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
    scale, off = 1.0, 1e-3
    if scores == "probabilities" and len(p):  # percentages too, to so many decimals
        scale = float(np.median(sums))
        rounded = (10.0**-d for d in range(0 if scale > 2 else 2, 7) if np.all(np.abs(p * 10**d - np.round(p * 10**d)) <= 2.0**-24 * p * 10**d))
        off = max(1e-3 * scale, p.shape[1] * next(rounded, 0.0))
    free = scores in ("logits", "log-probabilities", "one-vs-rest")
    if len(p) == 0 or p.min() < 0 or not (free or np.all(np.abs(sums - scale) <= off)):
        raise InputError(_judged(p) or f"{name} must hold at least one row, and in each row probabilities that sum to 1; of others, scores= says what they are: logits, probabilities, log-probabilities or one-vs-rest")
    return typing.cast(Array, np.where(sums[:, None] > 0, p, 1) if scores == "one-vs-rest" else p)


def _judged(p: Array) -> str:
    """What the command's judge of scores asks of numbers that are no probabilities; "" where it takes them for logits."""
    with warnings.catch_warnings(), working(p) as (worker, folder):
        warnings.simplefilter("ignore")
        write(folder / "rows.npz", test_logits=p, test_labels=np.arange(len(p)) % p.shape[1])
        try:
            worker.ask("evaluate", "--in", folder / "rows.npz", "--folds=0", "--redraws=0", "--replicates=0", "--json")
        except InputError as asked:
            return str(asked)
    return ""


def labels(y: Rows) -> Array:
    """y as an array of numbers or of text (N)."""
    y = array(single_column(y), "y")
    if y.ndim == 2 and y.shape[1] == 1:
        y = y.ravel()
    if y.dtype.kind == "S":
        return typing.cast(Array, np.char.decode(y, "utf-8"))
    if y.dtype != object:
        return typing.cast(Array, y)
    if all(isinstance(value, (int, np.integer)) for value in y.ravel().tolist()):
        return typing.cast(Array, y.astype(np.int64))
    if all(isinstance(value, str) for value in y.ravel().tolist()):
        return typing.cast(Array, y.astype(str))
    for row, value in enumerate(y.ravel().tolist()):
        if value is None or value != value:
            raise InputError(f"y holds {value} at row {row}; leave out the rows without a label")
    raise InputError("y holds values that are neither all whole numbers nor all text. Unknown label type: name the classes by numbers or by text")


def soft(y: Rows) -> bool:
    """Whether y holds the probabilities of the classes (N×C)."""
    shape = np.asarray(single_column(y)).shape
    return len(shape) == 2 and shape[1] > 1


def classes_of(y: Rows, scores: Array, said: Rows = None, names: typing.Sequence[str] | None = None) -> Array:
    """The classes of the columns of scores (N×C), logits or probabilities.

    They are what the caller said; the names of the columns, where all labels are such; the levels of a category; the integers 0…C−1 or
    1…C; or the labels themselves. Those of text may have several orders: the one that fits the columns is taken if the rows tell it from the
    others, and otherwise classes= is asked for, as the command does with labels of text.
    """
    count = scores.shape[1]
    if said is not None:
        if len(known := labels(said)) != count:
            raise InputError(f"classes= has {len(known)} classes and there are {count} columns; name one for each")
        if len(np.unique(known)) != count:
            raise InputError(f"classes= holds a class twice: {known.tolist()[:10]}; every column has its own")
        return known
    if soft(y):
        bare = _bare(names)
        return np.array(bare) if bare and sorted(bare) == sorted(_bare(column_names(y))) else np.arange(count)
    values = labels(y)
    if values.dtype.kind == "f" and np.all(values == np.floor(values)):
        values = values.astype(np.int64)
    found, first = np.unique(values, return_index=True)
    if len(names or ()) == count:
        named = set(map(str, found.tolist()))
        bare = _bare(names, named)
        if named <= set(bare):
            of = np.array([name in named for name in bare])
            if 1 < of.sum() < count and np.all(np.abs(scores[:, of].sum(axis=1) - 1) < 1e-3) and np.any(scores[:, ~of]):
                raise InputError(f"columns {[name for name in bare if name not in named]} stand beside those of the classes in y, which sum to 1 without them; leave them out, or name them by features=")
            if found.dtype.kind == "b":
                return np.array([name == "True" for name in bare])
            return np.array(bare) if found.dtype.kind == "U" else np.array(bare, dtype=object).astype(found.dtype)
        numbers = _numbers(bare)
        if numbers and found.dtype.kind in "iub" and not (numbers == sorted(numbers) and found[0] >= 0 and found[-1] < count):
            strange = [value for value in found.tolist() if value not in numbers]
            if not strange:
                return np.array(numbers)
            if numbers != sorted(numbers):
                raise InputError(f"the columns of the classes are {', '.join(bare[:6])}, in this order, and a label is {strange[0]}, which is none of these numbers; give the labels the names of the columns, or hand over classes=, the classes in the order of the columns")
    levels: typing.Any = getattr(getattr(y, "dtype", None), "categories", None)
    if not hasattr(levels, "__len__"):  # polars' Categorical has none of its own
        levels = None
    if levels is not None and len(levels) == count:
        levels = labels(levels)
        if levels.dtype.kind != "U" or getattr(y.dtype, "ordered", True):  # those of polars' Enum are
            return typing.cast(Array, levels)
    if found.dtype.kind == "f":
        if (missing := np.flatnonzero(np.isnan(values))).size:
            raise InputError(f"y holds nan at row {missing[0]}; leave out the rows without a label")
        if (strange := values[(values != np.floor(values)) | ~np.isfinite(values)]).size:
            raise InputError(f"y is continuous: it holds {strange[0]} at row {np.flatnonzero(values == strange[0])[0]}; it must hold a class for each row. Unknown label type: continuous")
    if found.dtype.kind in "iubf":
        one = np.arange(1, count + 1)
        if len(found) and found[0] >= 1 and found[-1] == count:
            return one
        if len(found) > 1 and found[0] == 1 and found[-1] == count - 1:
            return _fitting(values, scores, {f"0…{count - 1}": np.arange(count), f"1…{count}": one}, False)
        return found if len(found) == count else np.arange(count)  # and whoever numbers y says which label is none of them
    orders: dict[str, Array] = {}
    if levels is not None and len(levels) == count:
        orders["the order of the categories"] = levels
    seen = values[np.sort(first)].tolist()
    if digits := all(value.isdecimal() for value in found.tolist()):
        if set(found.tolist()) <= set(map(str, range(count))):
            found = np.array(sorted(map(str, range(count))))
        orders["the alphabet"], orders["the order of the numbers"] = found, np.array(sorted(found.tolist(), key=int))
    else:
        orders["the alphabet"], orders["the order of the rows"] = found, np.array(seen)
    asked = levels is None or levels.tolist() == seen
    orders = {by: order for k, (by, order) in enumerate(orders.items()) if len(order) == count and not any(np.array_equal(order, other) for other in list(orders.values())[:k])}
    if not orders:
        raise InputError(f"y holds {len(found)} classes and there are {count} columns; hand over classes=, the classes in the order of the columns")
    return _fitting(values, scores, orders, asked)


SCORE = r"(?i:logit|log_prob|(?:y_?)?(?:prob|proba|probability|probabilities|p|\.?pred|score|class|confidence|conf|softmax))s?"  # as data/classcolumns.go has it


def _bare(names: typing.Sequence[str] | None, said: typing.Collection[str] = ()) -> list[str]:
    """The classes that columns are of by their names: these as they are where all said are among them."""
    plain = [name.strip() for name in names or []]
    return plain if said and set(said) <= set(plain) else [re.sub(rf"^{SCORE}[._ ](?=.)", "", name) for name in plain]


def _numbers(names: typing.Sequence[str]) -> list[int]:
    """The whole numbers that names end in, after one beginning that all share, as data.Numbers has them; [] if they do not."""
    ends = [re.fullmatch(r"(.*?)(0|[1-9][0-9]{0,8})", name) for name in names]
    numbers = [int(end[2]) for end in ends if end]
    return numbers if len(set(numbers)) == len(names) and len({end[1] for end in ends if end}) == 1 else []


ALARM = 1e-3  # the chance of taking classes for exchanged where chance alone is the reason, as data/classes.go has it
LEANING = 1.0  # standard deviations by which two classes fit better exchanged where the rows do not tell
LOOKED = 10_000  # rows


def _fitting(y: Array, scores: Array, orders: dict[str, Array], asked: bool) -> Array:
    """The order of classes that fits the columns, if the rows tell it from the others; an InputError if they do not."""
    if len(y) != len(scores):
        raise InputError(f"y has {len(y)} rows and there are {len(scores)} rows of columns; they must be of the same rows")
    some = np.unique(np.linspace(0, len(y) - 1, min(len(y), LOOKED)).astype(int))
    y, scores = y[some], np.asarray(scores, dtype=float)[some]
    surely = statistics.NormalDist().inv_cdf(1 - ALARM)
    with np.errstate(over="ignore"):
        ranks = np.column_stack([_ranks(column) for column in (scores - np.logaddexp.reduce(scores, axis=1)[:, None]).T])
    columns = {by: numbered(y, order) for by, order in orders.items()}
    names = np.unique(y)
    label = np.searchsorted(names, y)
    place = {by: numbered(names, order) for by, order in orders.items()}

    def better(one: str, other: str) -> float:
        return agreement(ranks[:, place[one]] - ranks[:, place[other]], label)

    best = next(iter(orders))
    for by in orders:
        if better(by, best) > surely:
            best = by
    x, z, pair, least = exchanged(scores, columns[best])
    named = orders[best].tolist()
    if z < least:
        mean = np.array([ranks[columns[best] == k].mean(axis=0) if (columns[best] == k).any() else np.zeros(len(named)) for k in range(len(named))])
        fits: dict[int, typing.Any] = {}  # the largest mean rank first, each column once
        for at in np.argsort(-mean, axis=None, kind="stable"):
            k, column = divmod(int(at), len(named))
            if column not in fits and named[k] not in fits.values():
                fits[column] = named[k]
        raise InputError(f"the labels fit the columns better in another order than {next(iter(orders))}: {[fits[k] for k in sorted(fits)][:12]}; hand over classes=, the classes in the order of the columns")
    unknown = [by for by in orders if by != best and better(best, by) < surely]
    if asked and (unknown or z < -LEANING):
        may = f"{named[x]} and {named[pair]} may be exchanged in {best}" if z < -LEANING else f"it may be {best} or {unknown[0]}"
        raise InputError(f"the labels are names, and the order of the columns is not known: {may}, and the rows do not tell; hand over classes=, the classes in the order of the columns")
    if best != (first := next(iter(orders))):
        warnings.warn(f"the classes of the columns are taken in the order {named[:6]}, {best}, which fits them better than {first}; classes= says another", CalibraWarning, stacklevel=4)
    return orders[best]


def in_another_order(scores: Array, y: Array) -> bool:
    """Whether two classes seem to be exchanged or, of many, another column would be right far more often: each top class stands for its
    commonest label of every other row."""
    classes, top = scores.shape[1], scores.argmax(axis=1)
    if classes > 2000:  # of which the table of the pairs is large
        return False
    if classes <= 30:
        some = slice(None, None, -(-len(y) // LOOKED))
        _, z, _, least = exchanged(np.log(np.maximum(scores[some], 1e-300)), y[some])
        return z < least
    mostly = np.bincount((top * classes + y)[::2], minlength=classes * classes).reshape(classes, classes).argmax(axis=1)
    right, moved = int((top == y)[1::2].sum()), int((mostly[top] == y)[1::2].sum())
    return moved > 2 * right and moved - right > statistics.NormalDist().inv_cdf(1 - ALARM) * (moved + right) ** 0.5


def exchanged(scores: Array, y: Array) -> tuple[int, float, int, float]:
    """Two classes whose labels fit the columns least as they are, a and z and b: z is by how many standard deviations the rows of a have
    larger differences s_a − s_b than those of b (Mann and Whitney 1947), and below the last number chance alone has no pair."""
    rows = [np.flatnonzero(y == k) for k in range(scores.shape[1])]
    pairs = [(a, b) for a in range(len(rows)) for b in range(a + 1, len(rows)) if len(rows[a]) and len(rows[b])]
    worst, least = (0, 0.0, 0), statistics.NormalDist().inv_cdf(ALARM / max(len(pairs), 1))
    for a, b in pairs:
        of = np.concatenate([rows[a], rows[b]])
        with np.errstate(invalid="ignore"):
            d = np.nan_to_num(scores[of, a] - scores[of, b], nan=0.0, posinf=np.inf, neginf=-np.inf)
        z = agreement(np.column_stack([_ranks(d), np.zeros(len(of))]), (np.arange(len(of)) >= len(rows[a])).astype(int))
        if z < worst[1]:
            worst = (a, z, b)
    return (*worst, least)


def agreement(q: Array, y: Array) -> float:
    """T = Σ_i ã_iy_i, ã_ic = q_ic − Σ_j q_jc / N, in its standard deviations if the labels are permuted."""
    n, a = len(q), q - q.mean(axis=0)
    counts = np.bincount(y, minlength=q.shape[1])
    variance = ((a * a) @ counts - (a @ counts) ** 2 / n).sum() / max(n - 1, 1)
    return float(a[np.arange(n), y].sum() / np.sqrt(variance)) if variance > 1e-12 * n else 0.0


def _ranks(values: Array) -> Array:
    """Ranks over N, from −1/2 to 1/2; equal values have the mean of theirs."""
    _, at, counts = np.unique(values, return_inverse=True, return_counts=True)
    return typing.cast(Array, ((np.cumsum(counts) - (counts + 1) / 2) / len(values) - 0.5)[at])


def numbered(y: Rows, classes: Array) -> Array:
    """The labels as numbers of their classes, or soft as they are; a label that is none of them is an InputError with its row."""
    if soft(y):
        named = _bare(column_names(y))
        shares = columns(y, "y")
        sums = shares.sum(axis=1)
        if (rows := np.flatnonzero((shares < 0).any(axis=1) | (np.abs(sums - 1) > min(0.005 * len(classes) + 1e-3, 0.2)))).size:
            raise InputError(f"row {rows[0]} of y sums to {sums[rows[0]]:.6g}; hand over one class for each row, or the probabilities of all classes, which sum to 1")
        return shares[:, [named.index(name) for name in classes.tolist()]] if classes.dtype.kind == "U" and sorted(named) == sorted(classes.tolist()) else shares
    y = labels(y)
    if np.array_equal(classes, np.arange(len(classes))) and y.dtype.kind in "iubf":
        if (rows := np.flatnonzero(~np.isin(y, classes))).size:
            raise InputError(f"y holds {y[rows[0]]} at row {rows[0]}, which is none of the classes 0…{len(classes) - 1}")
        return typing.cast(Array, y.astype(np.int64))
    place = {value: k for k, value in enumerate(classes.tolist())}
    for value, k in list(place.items()):
        place.setdefault(str(value), k)  # numbers that y has as text
    strange = [(row, value) for row, value in enumerate(y.tolist()) if value not in place]
    if strange:
        raise InputError(f"y holds {strange[0][1]!r} at row {strange[0][0]}, which is none of the classes {classes.tolist()[:10]}")
    return np.array([place[value] for value in y.tolist()], dtype=np.int64)
