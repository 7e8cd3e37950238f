"""Ray and Spark on this machine say what the command says of all rows at once."""
import filecmp
import shutil
import sys

import numpy as np
import pytest

import localcal


def rows(seed, n, classes=4):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    return 3 * (2 * np.eye(classes)[y] + rng.normal(size=(n, classes))), y


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "vector"
    localcal.Calibrator("vector").fit(*rows(0, 2000)).save(folder)
    return folder


@pytest.fixture(scope="module")
def all_at_once(model, tmp_path_factory):
    """The test rows, and what the command says of them."""
    folder = tmp_path_factory.mktemp("rows")
    logits, y = rows(1, 2 * 16384 + 500)
    np.savez(folder / "rows.npz", test_logits=logits, test_labels=y)
    localcal.run("apply", "--model", model, "--in", folder / "rows.npz", "--out", folder / "said.npz")
    with np.load(folder / "said.npz") as said:
        return logits, y, said["probs"]


def agree(measured, p, y):
    whole = localcal.evaluate(p, y)
    for name, m in measured.metrics.items():
        assert abs(m.value - whole[name].value) < 1e-11  # of sums in another order


def shares_cells(study, folder):
    words = ["--data", "digits", "--methods", "nc,ts", "--seeds", "42,43"]
    study("main", *words, out=folder / "shared", tasks=2)
    localcal.run("study", "main", *words, "--out", folder / "alone")
    assert filecmp.cmp(folder / "shared" / "results.csv", folder / "alone" / "results.csv", shallow=False)


def test_ray(model, all_at_once, tmp_path):
    ray = pytest.importorskip("ray")
    import localcal.integrations.ray

    logits, y, p = all_at_once
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        table = ray.data.from_items([{"id": i, "label": int(y[i]), "logits": logits[i]} for i in range(len(y))])
        said = localcal.integrations.ray.apply(model, table).materialize()
        found = sorted(said.take_all(), key=lambda row: row["id"])
        assert np.array_equal(np.stack([row["probs"] for row in found]), p)
        agree(localcal.integrations.ray.evaluate(said), p, y)
        shares_cells(localcal.integrations.ray.study, tmp_path)
    finally:
        ray.shutdown()


@pytest.mark.skipif(not shutil.which("java"), reason="Spark needs a Java")
def test_spark(model, all_at_once, monkeypatch, tmp_path):
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)  # of the workers, else the python3 of PATH, which may have no calibra
    sql = pytest.importorskip("pyspark.sql")
    import localcal.integrations.spark
    import pandas

    logits, y, p = all_at_once
    spark = sql.SparkSession.builder.master("local[2]").config("spark.sql.execution.arrow.maxRecordsPerBatch", 5000).getOrCreate()
    try:
        table = spark.createDataFrame(pandas.DataFrame({"id": np.arange(len(y)), "label": y, "logits": list(logits)}))
        said = localcal.integrations.spark.apply(model, table).cache()
        assert np.abs(np.stack(said.toPandas().sort_values("id")["probs"]) - p).max() < 1e-12
        agree(localcal.integrations.spark.evaluate(said), p, y)
        shares_cells(localcal.integrations.spark.study, tmp_path)
    finally:
        spark.stop()
