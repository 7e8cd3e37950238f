"""Applies a calibrator, evaluates predictions and computes a study on Ray.

    pip install "ray[data]"

    import calibra.ray
    said = calibra.ray.apply("runs/mixture", ray.data.read_parquet("rows"), features="features")
    calibra.ray.evaluate(said)
    calibra.ray.study("main", "--data", "letter", out="/shared/runs/main")

Workers need this package. What they compute has the bytes of the command: batches of rows are of a
size that it computes at once too, and sums of metrics do not depend on their order.
"""
from __future__ import annotations

import os
import typing

import numpy as np

import ray

from calibra.calibrator import Calibrator
from calibra.command import plain, run
from calibra.judging import Evaluation, merged, totals_of

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
    """The rows (a Dataset) with a column probs more: their calibrated probabilities.

    model is the folder that calibra fit or Calibrator.save wrote, which all workers see. logits and
    features name columns that hold an array for each row.
    """
    return rows.map_batches(_Apply, fn_constructor_args=(str(model), logits, features), batch_size=batch_size, concurrency=workers)


def evaluate(rows: typing.Any, *, probs: str = "probs", labels: str = "label", numbers: str = "id", batch_size: int = ROWS, **options: typing.Any) -> Evaluation:
    """The global metrics of rows (a Dataset), as calibra.evaluate gives them.

    numbers names a column that numbers all rows from 0. The options are flags of calibra evaluate.
    """

    def counted(batch: dict[str, typing.Any]) -> dict[str, typing.Any]:
        return {"part": np.array([*totals_of(batch[numbers], batch[probs], batch[labels], **options)], dtype=object)}

    return merged(row["part"] for row in rows.map_batches(counted, batch_size=batch_size).take_all())


def study(name: str, *words: object, out: str | os.PathLike[str], tasks: int | None = None, cores: int = 1) -> str:
    """Computes a study, its cells shared among tasks of Ray, and writes its report into the folder out.

    All workers see out. words are those of calibra study; one cell is computed at a time by each
    task, which takes so many cores. What was computed before is not computed again.
    """
    tasks = tasks or max(1, int(typing.cast(typing.Any, ray).cluster_resources().get("CPU", 1) // cores))
    command = ["study", name, *map(plain, words), "--out", str(out)]

    @ray.remote(num_cpus=cores, max_retries=3)  # type: ignore[untyped-decorator]  # seen without types
    def share(k: int) -> None:
        run(*command, "--jobs", 1, "--shard", f"{k}/{tasks}")

    ray.get([share.remote(k + 1) for k in range(tasks)])
    return run(*command, "--collect")
