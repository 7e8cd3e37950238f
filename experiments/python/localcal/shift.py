"""Whether rows look unlike those that a model was fitted on."""

from __future__ import annotations

import dataclasses
import functools
import math
import statistics
import typing

import numpy as np

from localcal.safetensors import tensors
from localcal.tables import Array

INPUTS = "inputs/"  # before the names of tensors that say what the rows of the fit were like

FEWEST, MOST = 30, 512  # rows of a batch that a glance takes

# As layers/comparison.go, profile.go and fingerprint.go have them.
FALSE_ALARMS = 5e-5  # the chance of an alarm of each kind on rows of the same law
DRIFTING = 0.1  # the share of rows from which a drift is told
FEWEST_OF_CLASS = 10
LOWEST_LOGIT = -1e4
FAR = 10.0  # standard deviations


@dataclasses.dataclass(frozen=True)
class Check:
    """What rows look like beside those of the fit, each a list of sentences that is empty where nothing is found.

    Parameters
    ----------
    rows : int
    shifted : list of str
        Columns that look exchanged, or scaled otherwise. Predictions of such rows are wrong if that is so.
    drifted : list of str
        Features or logits that lie otherwise.
    far : list of str
        Rows far outside of all that the fit has seen.
    scores : list of str
        What the scores seem to be, if that is not what they were in the fit.

    Examples
    --------
    >>> import localcal, numpy as np
    >>> y = np.arange(300) % 3
    >>> rng = np.random.default_rng(0)
    >>> logits = 4 * np.eye(3)[y] + rng.normal(size=(300, 3))
    >>> model = localcal.Calibrator("ts").fit(logits, y)
    >>> model.check(logits).ok, model.check(100 * logits).shifted[0][:32]
    (True, 'the logits look scaled otherwise')
    """

    rows: int
    shifted: list[str]
    drifted: list[str]
    far: list[str]
    scores: list[str]

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not (self.shifted or self.drifted or self.far or self.scores)

    def __str__(self) -> str:
        return (
            "\n".join([*self.shifted, *self.drifted, *self.far, *self.scores])
            or f"{self.rows} rows look like those of the fit"
        )


KINDS = {
    "shift": "shifted",
    "drift": "drifted",
    "far": "far",
    "scores": "scores",
}  # notes of calibra apply by their keys


def plain_rows(features: Array, rows: int) -> bool:
    """Whether features are a matrix of finite numbers with so many rows."""
    return (
        features.ndim == 2
        and len(features) == rows
        and features.dtype.kind in "fiub"
        and bool(np.isfinite(features.sum()))
    )


class Glance:
    """A quick look at rows: whether the command, which says what it is, would find anything.

    It compares with the fit, for each column, the shares of rows below five quantiles, for each feature its means by
    the most probable class, and the distances of the rows.
    """

    def __init__(self, model: bytes) -> None:
        of = tensors(model, lambda name: name.startswith(INPUTS))
        self.of = {name.removeprefix(INPUTS): values.astype(np.float64) for name, values in of.items()}

    def unlike(self, logits: Array, features: Array | None) -> set[tuple[str, str]]:
        """What is unlike the fit: the array, and how. logits are log-probabilities up to a constant of each row."""
        some = _sample(len(logits))
        arrays = {
            "logits": np.array(logits[some].T, dtype=np.float64, order="C")
        }  # C×N, so that a column lies together
        arrays["logits"] -= arrays["logits"].max(axis=0)
        np.maximum(arrays["logits"], LOWEST_LOGIT, out=arrays["logits"])
        if features is not None:
            arrays["features"] = np.array(features[some].T, dtype=np.float64, order="C")
        found = set()
        for name, columns in arrays.items():
            if self._far(name, columns):
                found.add((name, "far"))
            at, was = self.of.get(f"fingerprint/{name}/at"), self.of.get(f"fingerprint/{name}/below")
            if at is None or was is None or at.shape[1] != len(columns):
                continue
            share = np.count_nonzero(columns <= at[:, :, None], axis=2) / columns.shape[1]
            unit = 2 / math.sqrt(1 / self.of["fingerprint/rows"][0] + 1 / columns.shape[1])
            z = unit * (np.arcsin(np.sqrt(share)) - np.arcsin(np.sqrt(was)))
            misfit = (z * z).sum(axis=0) / 3
            if name == "features":
                misfit += self._means(arrays["logits"], columns)
            if (misfit > 2 * math.log(len(columns) ** 2 / FALSE_ALARMS)).any():
                found.add((name, "misfit"))
            if ((np.abs(z) >= _certain(z.size)) & (np.abs(share - was) >= DRIFTING)).any():
                found.add((name, "drift"))
        return found

    def _far(self, name: str, columns: Array) -> bool:
        mean, sd = self.of.get(f"{name}/mean"), self.of.get(f"{name}/sd")
        if mean is None or sd is None or len(mean) != len(columns):
            return False
        least = max(0.1 * float(np.sqrt(np.mean(sd * sd))), 1e-12)
        z = (columns - mean[:, None]) / np.maximum(sd, least)[:, None]
        return bool(np.einsum("ji,ji->i", z, z).max() > FAR * FAR * len(columns))

    def _means(self, logits: Array, features: Array) -> Array | float:
        """Of each feature, what its means by the most probable class show against its being that of the fit."""
        known, rows, sd = (
            self.of.get("fingerprint/means"),
            self.of.get("fingerprint/counts"),
            self.of.get("features/sd"),
        )
        if (
            known is None
            or rows is None
            or sd is None
            or known.shape != (len(logits), len(features))
            or len(sd) != len(features)
        ):
            return 0.0
        top = logits.argmax(axis=0)
        counts = np.bincount(top, minlength=len(logits))
        enough = (counts >= FEWEST_OF_CLASS) & (rows >= FEWEST_OF_CLASS)
        sd = np.maximum(sd, max(0.01 * float(np.sqrt(np.mean(sd * sd))), 1e-12))
        misfit = np.zeros(len(features))
        for c in np.flatnonzero(enough):
            d = (features[:, top == c].mean(axis=1) - known[c]) / sd
            misfit += d * d / (1 / counts[c] + 1 / rows[c])
        return misfit


@functools.lru_cache(64)
def _sample(rows: int) -> typing.Any:
    """The same rows of as many: a slice of all, or numbers whose gaps follow the golden section, which no period has."""
    return (
        slice(None) if rows <= MOST else np.unique((np.arange(MOST) * (0.5 * (5**0.5 - 1)) % 1 * rows).astype(np.int64))
    )


@functools.lru_cache(64)
def _certain(marks: int) -> float:
    return statistics.NormalDist().inv_cdf(1 - FALSE_ALARMS / 2 / marks)
