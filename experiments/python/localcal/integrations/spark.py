"""Applies a calibrator, evaluates predictions and computes a study on Spark.

    pip install pyspark pandas pyarrow            # and a Java, 17 or later

    import localcal.integrations.spark
    said = localcal.integrations.spark.apply("runs/pool", table, features="features")
    localcal.integrations.spark.evaluate(said)
    localcal.integrations.spark.study("main", "--data", "letter", out="/shared/runs/main")

Workers need this package. Batches are of spark.sql.execution.arrow.maxRecordsPerBatch rows. The probabilities are those
of the command within 1e-12, as products of other batches round otherwise; studies have its bytes.
"""
from __future__ import annotations

import collections.abc
import os
import typing

import numpy as np
from pyspark.sql import SparkSession, types

from localcal.calibrator import Calibrator
from localcal.command import plain
from localcal.judging import Evaluation
from localcal.judging import evaluate as judged
from localcal.worker import run

__all__ = ["apply", "evaluate", "study"]


def apply(model: str | os.PathLike[str], table: typing.Any, *, logits: str = "logits", features: str | None = None) -> typing.Any:
    """The rows with a column probs more: their calibrated probabilities.

    Parameters
    ----------
    model : path
        The folder that calibra fit or Calibrator.save wrote, which all workers see.
    table : pyspark.sql.DataFrame
    logits : str
        A column that holds an array for each row.
    features : str or None
        Likewise.

    Returns
    -------
    pyspark.sql.DataFrame

    Examples
    --------
    >>> import tempfile, numpy as np, localcal, localcal.integrations.spark
    >>> from pyspark.sql import SparkSession
    >>> spark = SparkSession.builder.master("local[1]").getOrCreate()
    >>> y = np.arange(300) % 3
    >>> logits = 4 * np.eye(3)[(y + (np.arange(300) % 5 == 0)) % 3]
    >>> table = spark.createDataFrame([(row.tolist(),) for row in logits[:1]], ["logits"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     localcal.Calibrator("ts").fit(logits, y).save(folder)
    ...     said = localcal.integrations.spark.apply(folder, table).collect()
    >>> np.round(said[0]["probs"], 2)
    array([0.1, 0.8, 0.1])
    >>> spark.stop()
    """
    model = str(model)

    def batches(frames: collections.abc.Iterable[typing.Any]) -> collections.abc.Iterator[typing.Any]:
        calibrator = Calibrator.load(model)
        for frame in frames:
            rows, beside = (None if name is None else np.stack(frame[name]) for name in (logits, features))
            yield frame.assign(probs=list(calibrator._applied(rows, beside)["probs"]))

    schema = types.StructType([*table.schema.fields, types.StructField("probs", types.ArrayType(types.DoubleType()))])
    return table.mapInPandas(batches, schema)


def evaluate(table: typing.Any, *, probs: str = "probs", labels: str = "label", **options: typing.Any) -> Evaluation:
    """The evaluation of rows, as localcal.evaluate gives it. Their labels and probabilities come to this machine.

    Parameters
    ----------
    table : pyspark.sql.DataFrame
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
    >>> import localcal.integrations.spark
    >>> from pyspark.sql import SparkSession
    >>> spark = SparkSession.builder.master("local[1]").getOrCreate()
    >>> rows = spark.createDataFrame([(k, k % 2, [0.75, 0.25]) for k in range(200)], ["id", "label", "probs"])
    >>> round(localcal.integrations.spark.evaluate(rows)["nll"].value, 4)
    0.837
    >>> spark.stop()
    """
    said = table.select(probs, labels).toPandas()
    return judged(np.stack(said[probs]), said[labels].to_numpy(), **options)


def study(name: str, *words: object, out: str | os.PathLike[str], tasks: int | None = None) -> str:
    """Computes a study, its cells shared among tasks of Spark, and writes its report into a folder.

    Finished cells are not computed again.

    Parameters
    ----------
    name : str
    *words : object
        Those of calibra study.
    out : path
        The folder, which all workers see.
    tasks : int or None
        Each computes a cell at a time; None is as many as Spark runs at once.

    Returns
    -------
    str
        The last output of the command.

    Examples
    --------
    >>> import tempfile, localcal.integrations.spark
    >>> from pyspark.sql import SparkSession
    >>> spark = SparkSession.builder.master("local[1]").getOrCreate()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     said = localcal.integrations.spark.study("main", "--data", "letter", "--methods", "nc,ts", "--seeds", 1, out=folder)
    >>> "2 of 2 cells" in said
    True
    >>> spark.stop()
    """
    context: typing.Any = SparkSession.builder.getOrCreate().sparkContext
    shares = tasks or context.defaultParallelism
    command = ["study", name, *map(plain, words), "--out", str(out)]

    def compute(k: int) -> None:
        run(*command, "--jobs", 1, "--shard", f"{k + 1}/{shares}")

    context.parallelize(range(shares), shares).foreach(compute)
    return run(*command, "--collect")
