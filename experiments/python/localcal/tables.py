"""Reads rows from frames and tables with named columns, and from the predictions of a Trainer of Hugging Face."""
from __future__ import annotations

import typing

import numpy as np

from localcal.command import InputError, array, untraced

Rows = typing.Any  # N rows: an array, a nested list, a frame, an Arrow table, …
Names = typing.Sequence[typing.Union[str, int]]
Array = np.ndarray[typing.Any, np.dtype[typing.Any]]


class Parts(typing.NamedTuple):
    """The logits (N×C) and features (N×M) of rows, their labels where they hold them, the names of all columns, and of the logits."""

    logits: Rows
    features: Rows | None
    labels: Rows | None
    names: list[str] | None
    of_logits: list[str] | None


def parts(X: Rows, features: Rows | None, named: Names | None, known: list[str] | None = None) -> Parts:
    """X as logits and features: its columns named in `named`, or by their numbers, are features, all others logits.

    features may be such names as well. A table must have all known columns, in any order.
    """
    if hasattr(X, "predictions") and hasattr(X, "label_ids"):
        return _predicted(X, features)
    X, features = untraced(X), untraced(features)
    if isinstance(features, (list, tuple)) and features and all(isinstance(name, str) for name in features):
        named, features = features, None
    if features is not None and named is not None:
        raise InputError(f"features are handed over, and features={list(named)!r} names columns of X; choose one")
    columns = table(X)
    if columns is None:
        if named is None:
            return Parts(X, features, None, None, None)
        X = np.asarray(X)
        columns = {str(j): X[:, j] for j in range(X.shape[1])} if X.ndim == 2 else {}
    elif known is not None:
        if lacking := [name for name in known if name not in columns]:
            raise InputError(f"X has no column {lacking[0]!r}, which the rows of the fit have; the feature names should match those that were passed during fit")
        columns = {name: columns[name] for name in known}
    names, named_columns = list(columns), table(X) is not None
    wanted = [str(name) for name in named or []]
    if lacking := [name for name in wanted if name not in columns]:
        raise InputError(f"X has no column {lacking[0]!r}, which features names; it has {', '.join(names[:10])}")
    others = [name for name in names if name not in wanted]
    if not others:
        raise InputError("X has no column besides those that features names; the others are logits or probabilities, one for each class")
    if wanted:
        features = _beside(columns[name] for name in wanted)
    return Parts(_beside(columns[name] for name in others), features, None, names, others if named_columns else None)


def table(X: Rows) -> dict[str, Array] | None:
    """The columns of X by their names, each N values or N lists of one length (N×k); None of what has no named columns."""
    if hasattr(X, "iloc") and hasattr(X, "columns"):  # pandas
        return {str(name): _values(X.iloc[:, j]) for j, name in enumerate(X.columns)}
    if hasattr(X, "get_columns"):  # polars
        return {column.name: _values(column) for column in X.get_columns()}
    if isinstance(X, np.ndarray) or not (hasattr(X, "__arrow_c_stream__") or hasattr(X, "__dataframe__")):
        return None
    try:
        import pyarrow
        from pyarrow import interchange
    except ImportError:
        if hasattr(X, "__array__") and not hasattr(X, "columns"):
            return None  # a Series
        raise InputError(f"pyarrow reads a {type(X).__name__}, and is not installed: pip install pyarrow, or hand over an array") from None
    try:
        read = pyarrow.table(X) if hasattr(X, "__arrow_c_stream__") else interchange.from_dataframe(X)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, TypeError):
        return None  # a stream of values, as a Series is: no columns
    return {name: _arrow(read.column(j)) for j, name in enumerate(read.column_names)}


def column_names(values: Rows) -> list[str] | None:
    """The names of the columns of a frame or a table; None of what has none."""
    columns = table(values)
    return None if columns is None else list(columns)


def single_column(values: Rows) -> Rows:
    """values, or the only column of a table that is no array by itself."""
    values = untraced(values)
    if hasattr(values, "__array__") or (columns := table(values)) is None:
        return values
    if len(columns) != 1:
        return _beside(columns.values())
    return next(iter(columns.values()))


def _values(column: typing.Any) -> Array:
    """A column of pandas or polars; lists in it are rows of N×k."""
    values = np.asarray(column)
    if values.dtype == object and len(values) and isinstance(values[0], (list, tuple, np.ndarray)):
        try:
            return np.stack([np.asarray(value) for value in values])
        except ValueError:
            raise InputError(f"the column {column.name!r} holds lists of several lengths; each row must have as many numbers") from None
    return values


def _arrow(column: typing.Any) -> Array:
    """A column of Arrow; lists in it are rows of N×k, and what is null is NaN, which the command refuses with its row."""
    import pyarrow
    import pyarrow.compute

    compute: typing.Any = pyarrow.compute
    kind = column.type
    if not (pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind) or pyarrow.types.is_fixed_size_list(kind)):
        return np.asarray(column.to_numpy())
    column = column.combine_chunks() if isinstance(column, pyarrow.ChunkedArray) else column
    lengths = compute.unique(compute.list_value_length(column))
    if len(lengths) != 1 or column.null_count:
        raise InputError("a column of lists holds several lengths; each row must have as many numbers")
    return np.asarray(compute.list_flatten(column).to_numpy(zero_copy_only=False)).reshape(len(column), -1)


def _beside(columns: typing.Iterable[Array]) -> Array:
    """Columns beside one another: N×k."""
    blocks = [column[:, None] if column.ndim == 1 else column for column in columns]
    return blocks[0] if len(blocks) == 1 else np.hstack(blocks)


def _predicted(said: typing.Any, features: Rows | None) -> Parts:
    """An EvalPrediction of Hugging Face: logits, or a tuple that begins with them and has hidden states after them.

    The features are the hidden states of the last layer. If it has a vector for each token (N×T×M), they are the
    vectors of the first token, which the head of a classifier such as BERT reads.
    """
    for name, held in (("predictions", said.predictions), ("label_ids", said.label_ids)):
        if isinstance(held, dict):
            raise InputError(f"{name} is a dict of {', '.join(map(str, held))}; hand over one of them: fit(said.predictions[…], said.label_ids[…]), with a key where it is a dict")
    if isinstance(said.label_ids, (tuple, list)) and len(said.label_ids) > 1:
        raise InputError(f"label_ids holds {len(said.label_ids)} arrays, of several outputs; calibrate each by itself: fit(said.predictions[k], said.label_ids[k])")
    logits, *more = said.predictions if isinstance(said.predictions, (tuple, list)) else (said.predictions,)
    if features is None and more:
        hidden = more[0]
        while isinstance(hidden, (tuple, list)):
            hidden = hidden[-1]
        hidden = array(hidden, "hidden states")
        features = hidden[:, 0] if hidden.ndim == 3 else hidden
    labels = next(iter(said.label_ids), None) if isinstance(said.label_ids, tuple) else said.label_ids
    return Parts(logits, features, labels, None, None)
