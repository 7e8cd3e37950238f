"""Methods of calibra as calibrators of probmetrics, which CalArena's benchmark runs.

CalArena (github.com/probkit/CalArena) reads custom_calibrators.py; this line in it registers all methods that need no
features:

    from localcal.integrations.probmetrics import CUSTOM_CALIBRATORS

    python run_benchmark.py --benchmark tabrepo-multiclass --calibrator "calibra sm"

Only what CalArena hands over, probabilities and labels, is fitted, so methods that divide the latent space have no
place there.
"""
from __future__ import annotations

import collections.abc
import functools
import json
import typing

import numpy as np
from probmetrics.calibrators import Calibrator as Base

from localcal.calibrator import Calibrator
from localcal.tables import Array
from localcal.worker import run

__all__ = ["Calibrated", "custom_calibrators"]


class Calibrated(Base):  # type: ignore[misc]  # seen without types
    """A method of calibra with the interface of probmetrics' calibrators: fit(p, y), predict_proba(p), and those of torch.

    Parameters
    ----------
    method : str or None
        One that needs logits alone, as `calibra methods` tells. None is the one that is recommended without features.
    seed : int
    settings : dict or None
        Of the method, as `calibra methods NAME` lists them.

    Examples
    --------
    >>> import numpy as np
    >>> from localcal.integrations.probmetrics import Calibrated
    >>> p = np.array([[0.9, 0.1], [0.2, 0.8]] * 50)
    >>> Calibrated("ts").fit(p, np.array([0, 1, 0, 0] * 25)).predict_proba(p[:1]).round(2)
    array([[0.85, 0.15]])
    """

    def __init__(self, method: str | None = None, seed: int = 0, settings: dict[str, typing.Any] | None = None) -> None:
        super().__init__()
        self.method, self.seed, self.settings = method, seed, settings

    def _fit_impl(self, X: Array, y: Array) -> None:
        settings: dict[str, typing.Any] = self.settings or {}
        self.calibrator_ = Calibrator(self.method, seed=self.seed, **settings).fit(X, np.asarray(y).astype(np.int64))

    def _predict_proba_impl(self, X: Array) -> Array:
        return self.calibrator_.predict_proba(X)


def custom_calibrators() -> dict[str, collections.abc.Callable[[], Calibrated]]:
    """Factories of all methods that need no features, as CalArena's CUSTOM_CALIBRATORS has them.

    Returns
    -------
    dict of str to callable
        By the names "calibra ts", "calibra sm", …

    Examples
    --------
    >>> from localcal.integrations.probmetrics import custom_calibrators
    >>> custom_calibrators()["calibra ts"]()
    Calibrated(method='ts')
    """
    listed = json.loads(run("methods", "--json"))
    return {f"calibra {m['method']}": functools.partial(Calibrated, m["method"]) for m in listed if m["needs"] == ["logits"]}


def __getattr__(name: str) -> typing.Any:
    if name == "CUSTOM_CALIBRATORS":  # asks the command, so only who wants it
        return custom_calibrators()
    raise AttributeError(f"module 'localcal.integrations.probmetrics' has no attribute {name!r}")
