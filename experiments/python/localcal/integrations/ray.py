"""Applies a calibrator, evaluates predictions and computes a study on Ray.

    pip install "ray[data]"

    import localcal.integrations.ray
    said = localcal.integrations.ray.apply("runs/pool", ray.data.read_parquet("rows"), features="features")
    localcal.integrations.ray.evaluate(said)
    localcal.integrations.ray.study("main", "--data", "letter", out="/shared/runs/main")

Workers need this package. Their results have the same bytes as the command's: it also computes batches of this size.
"""
from __future__ import annotations

import os
import typing

import numpy as np

import ray

from localcal.calibrator import Calibrator
from localcal.command import plain
from localcal.judging import Evaluation
from localcal.judging import evaluate as judged
from localcal.worker import run

__all__ = ["apply", "evaluate", "study"]

ROWS = 16384  # of a batch: a multiple of those that the command computes at once


class _Apply:
    """What a worker does: it loads the model once and calibrates batches."""

    def __init__(self, model: str, logits: str, features: str | None) -> None:
        self.calibrator, self.names = Calibrator.load(model), (logits, features)

    def __call__(self, batch: dict[str, typing.Any]) -> dict[str, typing.Any]:
        logits, features = (None if name is None else np.stack(batch[name]) for name in self.names)
        batch["probs"] = self.calibrator._applied(logits, features)["probs"]
        return batch


def apply(model: str | os.PathLike[str], rows: typing.Any, *, logits: str = "logits", features: str | None = None, workers: int = 2, batch_size: int = ROWS) -> typing.Any:
    """The rows with a column probs more: their calibrated probabilities.

    Parameters
    ----------
    model : path
        The folder that calibra fit or Calibrator.save wrote, which all workers see.
    rows : ray.data.Dataset
    logits : str
        A column that holds an array for each row.
    features : str or None
        Likewise.
    workers : int
    batch_size : int

    Returns
    -------
    ray.data.Dataset

    Examples
    --------
    >>> import tempfile, numpy as np, ray, localcal, localcal.integrations.ray
    >>> y = np.arange(300) % 3
    >>> logits = 4 * np.eye(3)[(y + (np.arange(300) % 5 == 0)) % 3]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     localcal.Calibrator("ts").fit(logits, y).save(folder)
    ...     said = localcal.integrations.ray.apply(folder, ray.data.from_numpy(logits), logits="data").take(1)
    >>> said[0]["probs"].round(2)
    array([0.1, 0.8, 0.1])
    >>> ray.shutdown()
    """
    return rows.map_batches(_Apply, fn_constructor_args=(str(model), logits, features), batch_size=batch_size, concurrency=workers)


def evaluate(rows: typing.Any, *, probs: str = "probs", labels: str = "label", **options: typing.Any) -> Evaluation:
    """The evaluation of rows, as localcal.evaluate gives it. Their labels and probabilities come to this machine.

    Parameters
    ----------
    rows : ray.data.Dataset
    probs : str
        A column that holds an array for each row.
    labels : str
        The column of classes.
    **options
        Flags of calibra evaluate.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> import ray, localcal.integrations.ray
    >>> rows = ray.data.from_items([{"id": k, "label": k % 2, "probs": [0.75, 0.25]} for k in range(200)])
    >>> round(localcal.integrations.ray.evaluate(rows)["nll"].value, 4)
    0.837
    >>> ray.shutdown()
    """
    said = rows.select_columns([probs, labels]).take_all()
    return judged(np.stack([row[probs] for row in said]), np.array([row[labels] for row in said]), **options)


def study(name: str, *words: object, out: str | os.PathLike[str], tasks: int | None = None, cores: int = 1) -> str:
    """Computes a study, its cells shared among tasks of Ray, and writes its report into a folder.

    Finished cells are not computed again.

    Parameters
    ----------
    name : str
    *words : object
        Those of calibra study.
    out : path
        The folder, which all workers see.
    tasks : int or None
        Each computes a cell at a time; None is as many as the cluster has cores for.
    cores : int
        Of a task.

    Returns
    -------
    str
        The last output of the command.

    Examples
    --------
    >>> import tempfile, ray, localcal.integrations.ray
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     said = localcal.integrations.ray.study("main", "--data", "letter", "--methods", "nc,ts", "--seeds", 1, out=folder, tasks=1)
    >>> "2 of 2 cells" in said
    True
    >>> ray.shutdown()
    """
    tasks = tasks or max(1, int(typing.cast(typing.Any, ray).cluster_resources().get("CPU", 1) // cores))
    command = ["study", name, *map(plain, words), "--out", str(out)]

    @ray.remote(num_cpus=cores, max_retries=3)  # type: ignore[untyped-decorator]  # seen without types
    def share(k: int) -> None:
        run(*command, "--jobs", 1, "--shard", f"{k}/{tasks}")

    ray.get([share.remote(k + 1) for k in range(tasks)])
    return run(*command, "--collect")
