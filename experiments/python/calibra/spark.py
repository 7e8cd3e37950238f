"""Applies a calibrator and evaluates predictions on Spark.

    pip install pyspark pandas pyarrow            # and a Java, 17 or later

    import calibra.spark
    said = calibra.spark.apply("runs/mixture", table, features="features")
    calibra.spark.evaluate(said)

Workers need this package. Batches are of spark.sql.execution.arrow.maxRecordsPerBatch rows. The probabilities are those
of the command within 1e-12, as products of other batches round otherwise; the sums of metrics have its bytes.
"""
from __future__ import annotations

import collections.abc
import os
import typing

import numpy as np
import pyarrow as pa
from pyspark.sql import types

from calibra.calibrator import Calibrator
from calibra.judging import Evaluation, merged, totals_of


def apply(model: str | os.PathLike[str], table: typing.Any, *, logits: str = "logits", features: str | None = None) -> typing.Any:
    """The rows of a data frame with a column probs more: their calibrated probabilities.

    model is the folder that calibra fit or Calibrator.save wrote, which all workers see. logits and
    features name columns that hold an array for each row.
    """
    model = str(model)

    def batches(frames: collections.abc.Iterable[typing.Any]) -> collections.abc.Iterator[typing.Any]:
        calibrator = Calibrator.load(model)
        for frame in frames:
            rows, beside = (None if name is None else np.stack(frame[name]) for name in (logits, features))
            yield frame.assign(probs=list(calibrator._applied(rows, beside)["probs"]))

    schema = types.StructType([*table.schema.fields, types.StructField("probs", types.ArrayType(types.DoubleType()))])
    return table.mapInPandas(batches, schema)


def evaluate(table: typing.Any, *, probs: str = "probs", labels: str = "label", numbers: str = "id", **options: typing.Any) -> Evaluation:
    """The global metrics of the rows of a data frame, as calibra.evaluate gives them.

    numbers names a column that numbers all rows from 0. The options are flags of calibra evaluate.
    """

    def counted(batches: collections.abc.Iterable[typing.Any]) -> collections.abc.Iterator[typing.Any]:
        for batch in batches:
            rows = batch.to_pandas()
            yield pa.RecordBatch.from_pydict({"part": [*totals_of(rows[numbers], rows[probs], rows[labels], **options)]})

    return merged(bytes(row["part"]) for row in table.mapInArrow(counted, "part binary").collect())
