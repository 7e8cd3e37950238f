"""Rows in frames and tables, and what a Trainer predicted, say what arrays say."""
import sys
import types
import warnings

import numpy as np
import pytest

import localcal
import localcal.metrics
from localcal.tables import table
from test_calibra import CAL, TEST

LOGITS, FEATURES = [f"z{k}" for k in range(4)], [f"f{j}" for j in range(8)]


class Stream:
    """What offers a stream of Arrow and nothing else, as a relation of DuckDB does."""

    def __init__(self, held):
        self.held = held

    def __arrow_c_stream__(self, requested_schema=None):
        return self.held.__arrow_c_stream__(requested_schema)


class Interchange:
    """What offers the protocol of data frames and nothing else."""

    def __init__(self, held):
        self.held = held

    def __dataframe__(self, *args, **more):
        return self.held.__dataframe__(*args, **more)


def pandas_frame(rows):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(np.hstack([rows[0], rows[2]]), columns=LOGITS + FEATURES)


def arrow(rows):
    return pytest.importorskip("pyarrow").Table.from_pandas(pandas_frame(rows))


def lists(rows):
    """Lists of numbers in two columns."""
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.table({"z": rows[0].tolist(), "f": rows[2].tolist()})


KINDS = {
    "pandas": pandas_frame,
    "arrow": arrow,
    "arrow of lists": lists,
    "stream": lambda rows: Stream(arrow(rows)),
    "interchange": lambda rows: Interchange(arrow(rows)),
    "polars": lambda rows: pytest.importorskip("polars").from_arrow(arrow(rows)),
    "duckdb": lambda rows: pytest.importorskip("duckdb").from_arrow(arrow(rows)),
    "array": lambda rows: np.hstack([rows[0], rows[2]]),
}


@pytest.fixture(scope="module")
def plain():
    return localcal.Calibrator("local-ts").fit(CAL[0], CAL[1], features=CAL[2])


@pytest.mark.parametrize("kind", KINDS)
def test_features_are_columns(plain, kind, tmp_path):
    names = {"array": list(range(4, 12)), "arrow of lists": ["f"]}.get(kind, FEATURES)
    model = localcal.Calibrator("local-ts", features=names).fit(KINDS[kind](CAL), CAL[1])
    assert model.run_["model.safetensors"] == plain.run_["model.safetensors"]
    p = plain.predict_proba(TEST[0], TEST[2])
    assert np.array_equal(model.predict_proba(KINDS[kind](TEST)), p)
    assert np.array_equal(model.predict_log_proba(KINDS[kind](TEST)), np.log(p))
    assert model.score(KINDS[kind](TEST), TEST[1]) == plain.score(TEST[0], TEST[1], TEST[2])
    model.save(tmp_path)
    assert np.array_equal(localcal.Calibrator.load(tmp_path).predict_proba(KINDS[kind](TEST)), p)


def test_columns_are_found_by_their_names(plain):
    frame = pandas_frame(TEST)
    model = localcal.Calibrator("local-ts", features=FEATURES).fit(pandas_frame(CAL), CAL[1])
    assert model.n_features_in_ == 12 and model.feature_names_in_.tolist() == LOGITS + FEATURES
    assert np.array_equal(model.predict_proba(frame[frame.columns[::-1]]), plain.predict_proba(TEST[0], TEST[2]))
    with pytest.raises(localcal.InputError, match="has no column 'f3'"):
        model.predict_proba(frame.drop(columns="f3"))
    with pytest.raises(localcal.InputError, match="has no column 'age'"):
        localcal.Calibrator("local-ts", features=["age"]).fit(frame, TEST[1])
    with pytest.raises(localcal.InputError, match="choose one"):
        model.predict_proba(TEST[0], TEST[2])
    with pytest.raises(localcal.InputError, match="has no column besides"):
        localcal.Calibrator("ts", features=FEATURES).fit(frame[FEATURES], TEST[1])
    named = localcal.Calibrator("local-ts").fit(pandas_frame(CAL), CAL[1], features=FEATURES)
    assert np.array_equal(named.predict_proba(frame, features=FEATURES), plain.predict_proba(TEST[0], TEST[2]))


def test_labels_of_tables(plain):
    pyarrow = pytest.importorskip("pyarrow")
    for y in (pyarrow.chunked_array([CAL[1]]), Stream(pyarrow.table({"y": CAL[1]}))):
        assert localcal.Calibrator("local-ts").fit(CAL[0], y, features=CAL[2]).run_["model.safetensors"] == plain.run_["model.safetensors"]


def test_what_has_no_columns_is_no_table():
    assert table([[1, 2]]) is None and table(np.eye(2)) is None
    pyarrow = pytest.importorskip("pyarrow")
    with pytest.raises(localcal.InputError, match="several lengths"):
        table(pyarrow.table({"z": [[1.0, 2.0], [3.0]]}))


@pytest.mark.parametrize("hidden", ["none", "pooled", "layers"])
def test_what_a_trainer_predicted(hidden):
    def said(rows):
        layers = np.stack([np.zeros_like(rows[2]), rows[2]], axis=1)  # N×T×M
        more = {"none": rows[0], "pooled": (rows[0], rows[2]), "layers": (rows[0], (layers, layers[:, ::-1]))}[hidden]
        return types.SimpleNamespace(predictions=more, label_ids=rows[1])  # an EvalPrediction has these two

    method = "ts" if hidden == "none" else "local-ts"
    model = localcal.Calibrator(method).fit(said(CAL))
    expected = localcal.Calibrator(method).fit(CAL[0], CAL[1], features=None if hidden == "none" else CAL[2])
    assert model.run_["model.safetensors"] == expected.run_["model.safetensors"]
    assert np.array_equal(model.predict_proba(said(TEST)), expected.predict_proba(TEST[0], TEST[2]))
    assert model.score(said(TEST)) > 0.7
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.evaluate(said(TEST), replicates=40, redraws=20)["accuracy"].value == model.score(said(TEST))


def test_an_eval_prediction_of_transformers():
    transformers = pytest.importorskip("transformers")
    model = localcal.Calibrator("ts").fit(transformers.EvalPrediction(predictions=CAL[0], label_ids=CAL[1]))
    assert model.run_["model.safetensors"] == localcal.Calibrator("ts").fit(*CAL[:2]).run_["model.safetensors"]


def test_polars_without_pyarrow(monkeypatch):
    polars = pytest.importorskip("polars")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    frame = polars.DataFrame({name: column for name, column in zip(LOGITS, CAL[0].T)})
    model = localcal.Calibrator("ts").fit(frame, CAL[1])
    assert np.array_equal(model.predict_proba(frame.select(LOGITS[::-1])), model.predict_proba(CAL[0]))
    classes = polars.DataFrame({name: column for name, column in zip("dcba", CAL[0].T)})
    y = polars.Series(np.array(list("dcba"))[CAL[1]])
    for labels, scores in ((y, classes), (y, classes.select(list("abcd"))), (y.cast(polars.Enum(list("dcba"))), CAL[0])):
        assert localcal.metrics.nll(labels, scores, scores="logits") == pytest.approx(localcal.metrics.nll(CAL[1], CAL[0], scores="logits"), abs=1e-12)
