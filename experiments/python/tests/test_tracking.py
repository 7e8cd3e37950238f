"""Trackers hold what the command wrote, and MLflow's model predicts what the calibrator does."""
import json
import struct

import numpy as np
import pytest

import localcal
import localcal.integrations.tracking
from test_calibra import CAL, TEST


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A fit, a comparison, and a Calibrator fitted on a frame."""
    base = tmp_path_factory.mktemp("runs")
    np.savez(base / "rows.npz", cal_logits=CAL[0], cal_labels=CAL[1], cal_features=CAL[2], test_logits=TEST[0], test_labels=TEST[1], test_features=TEST[2])
    localcal.run("fit", "--in", base / "rows.npz", "--method", "vq", "--set", "optim.epochs=5", "--out", base / "fit")
    localcal.run("compare", "--in", base / "rows.npz", "--methods", "nc,ts", "--seeds", "42,43", "--out", base / "compare")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.hstack([CAL[0], CAL[2]]), columns=[f"c{k}" for k in range(12)])
    localcal.Calibrator("local-ts", features=[f"c{k}" for k in range(4, 12)]).fit(frame, CAL[1]).save(base / "frame")
    return base


def test_what_a_folder_holds(folders, tmp_path):
    fit = localcal.integrations.tracking.read(folders / "fit")
    assert fit.parameters["method"] == "vq" and fit.parameters["optim.epochs"] == 5 and fit.model
    assert fit.metrics == json.loads((folders / "fit" / "metrics.json").read_text())["metrics"]
    assert len({epoch for epoch, _ in fit.losses}) == 5
    both = localcal.integrations.tracking.read(folders / "compare")
    assert both.parameters == {"methods": "nc,ts", "seeds": "42,43"} and not both.model and len(both.files) > 8
    assert both.metrics["ts/nll"] < both.metrics["nc/nll"]
    with pytest.raises(localcal.InputError, match="neither config.json nor results.csv"):
        localcal.integrations.tracking.read(tmp_path)


def test_mlflow(folders, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")
    monkeypatch.setenv("GIT_PYTHON_REFRESH", "quiet")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    mlflow.create_experiment("calibrated", artifact_location=(tmp_path / "artifacts").as_uri())
    mlflow.set_experiment("calibrated")
    client = mlflow.MlflowClient()

    run = client.get_run(localcal.integrations.tracking.log_run(folders / "fit"))
    wrote = localcal.integrations.tracking.read(folders / "fit")
    assert run.info.status == "FINISHED" and run.data.params == {name: str(value) for name, value in wrote.parameters.items()}
    assert {name: value for name, value in run.data.metrics.items() if "/" not in name} == wrote.metrics
    curve = client.get_metric_history(run.info.run_id, "divide/loss")
    assert [(m.step, m.value) for m in curve] == [(epoch, losses["divide/loss"]) for epoch, losses in wrote.losses if "divide/loss" in losses]
    assert "report.html" in [a.path for a in client.list_artifacts(run.info.run_id)]

    loaded = mlflow.pyfunc.load_model(f"runs:/{run.info.run_id}/model")
    calibrator = localcal.Calibrator.load(folders / "fit")
    p = calibrator.predict_proba(TEST[0], TEST[2])
    assert np.array_equal(loaded.predict({"logits": TEST[0], "features": TEST[2]}), p)
    pandas = pytest.importorskip("pandas")
    with mlflow.start_run() as mine:
        assert localcal.integrations.tracking.log_run(folders / "frame") == mine.info.run_id
    loaded = mlflow.pyfunc.load_model(f"runs:/{mine.info.run_id}/model")
    frame = pandas.DataFrame(np.hstack([TEST[0], TEST[2]]), columns=[f"c{k}" for k in range(12)])
    assert np.array_equal(loaded.predict(frame), localcal.Calibrator.load(folders / "frame").predict_proba(frame))

    run = client.get_run(localcal.integrations.tracking.log_run(folders / "compare", name="both"))
    assert run.data.metrics == pytest.approx(localcal.integrations.tracking.read(folders / "compare").metrics) and run.info.run_name == "both"
    assert [a.path for a in client.list_artifacts(run.info.run_id, "figures") if a.path.endswith("png")]


def test_wandb(folders, tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="Weights & Biases is not installed")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("WANDB_CACHE_DIR", str(tmp_path / "cache"))
    for folder in ("fit", "compare"):
        name = localcal.integrations.tracking.log_wandb(folders / folder)
        wandb.teardown()  # a run that is finished may still be written by wandb's own process; this waits for its end
        (file,) = tmp_path.glob(f"wandb/offline-run-*-{name}/run-{name}.wandb")
        found = summary(wandb, file)
        for metric, value in localcal.integrations.tracking.read(folders / folder).metrics.items():
            assert found[metric] == value
        assert ("divide/loss" in found) == (folder == "fit")


def summary(wandb, file):
    """The last value of each key in a file of wandb: LevelDB's log, records of wandb's own protocol in blocks of 32 KiB."""
    from wandb.proto import wandb_internal_pb2

    data, at, record, found = file.read_bytes(), 7, b"", {}
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:  # the rest of a block is filled
            at += 32768 - at % 32768
            continue
        length, kind = struct.unpack("<HB", data[at + 4 : at + 7])
        record += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last part
            said = wandb_internal_pb2.Record()
            said.ParseFromString(record)
            record = b""
            for item in [*said.summary.update, *said.history.item]:
                found[item.key or "/".join(item.nested_key)] = json.loads(item.value_json)
    return found
