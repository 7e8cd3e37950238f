"""Logs what the command wrote to a tracker of experiments.

    pip install "mlflow>=3"                      # or wandb

    import localcal.integrations.tracking
    localcal.integrations.tracking.log_run("runs/pool")     # MLflow: the active run, or one of its own
    localcal.integrations.tracking.log_wandb("runs/pool")   # Weights & Biases, offline unless mode says otherwise

A folder comes from `calibra fit` or `Calibrator.save`, or from `calibra compare` or `study`. A fit logs parameters,
metrics, losses of epochs, the page and the model. A comparison logs each method's mean metrics, figures and
tables. The command writes TensorBoard's files: `calibra fit --tensorboard DIR`.
"""
from __future__ import annotations

import collections
import csv
import dataclasses
import json
import os
import pathlib
import typing

import numpy as np

import localcal
from localcal.calibrator import Calibrator
from localcal.command import InputError
from localcal.tables import Array

__all__ = ["log_run", "log_wandb"]

FIGURES = (".png", ".svg")
PAGES = ("report.html", "tables.md", "results.csv")


@dataclasses.dataclass(frozen=True)
class Written:
    """What a folder holds."""

    folder: pathlib.Path
    parameters: dict[str, typing.Any]
    metrics: dict[str, float]  # of a comparison "method/metric", the mean over seeds
    losses: list[tuple[int, dict[str, float]]]  # of each epoch: "stage/loss" and its like
    files: list[pathlib.Path]  # figures, pages and tables

    @property
    def model(self) -> bool:
        """Whether there is a model."""
        return (self.folder / "model.safetensors").is_file()


def read(folder: str | os.PathLike[str]) -> Written:
    """What the command wrote into a folder."""
    folder = pathlib.Path(folder)
    files = [folder / name for name in PAGES if (folder / name).is_file()]
    if (folder / "config.json").is_file():
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        said = ("method", "data", "split", "seed", "calibration_rows", "validation_rows", "test_rows")
        parameters = {name: config[name] for name in said if name in config} | config.get("settings", {})
        measured = folder / "metrics.json"
        metrics = json.loads(measured.read_text(encoding="utf-8"))["metrics"] if measured.is_file() else {}
        return Written(folder, parameters, metrics, _losses(folder / "curves.csv"), files)
    if not (folder / "results.csv").is_file():
        raise InputError(f"{folder}: holds neither config.json nor results.csv; name a folder that calibra fit, compare or study wrote")
    found: dict[str, list[float]] = collections.defaultdict(list)
    with open(folder / "results.csv", encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    for row in rows:
        embedding = "" if row.get("embedding", "shared") == "shared" else f"/{row['embedding']} embedding"
        found[f"{row['method']}/{row['metric']}{embedding}"].append(float(row["value"]))
    figures = sorted(path for path in (folder / "figures").glob("*") if path.suffix in FIGURES)
    methods = dict.fromkeys(row["method"] for row in rows)
    seeds = dict.fromkeys(row["seed"] for row in rows)
    return Written(folder, {"methods": ",".join(methods), "seeds": ",".join(seeds)}, {name: float(np.mean(values)) for name, values in found.items()}, [], files + figures)


def _losses(path: pathlib.Path) -> list[tuple[int, dict[str, float]]]:
    """The lines of curves.csv: an epoch, and each number by its stage and column."""
    if not path.is_file():
        return []
    with open(path, encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    told = []
    for row in rows:
        stage, epoch = row.pop("stage"), int(row.pop("epoch"))
        told.append((epoch, {f"{stage}/{name}": float(value) for name, value in row.items() if value and name != "kept"}))
    return told


def log_run(folder: str | os.PathLike[str], *, name: str | None = None, model: str = "model") -> str:
    """Logs a folder to MLflow: into the active run, or one of its own in the current experiment.

    The model is a pyfunc that takes {"logits": N×C, "features": N×M}, or of a Calibrator fitted on a frame a frame with these columns, and
    returns probabilities (N×C), in the process that loaded it. `mlflow models serve -m runs:/ID/model --env-manager local`
    serves it: POST {"inputs": {"logits": …, "features": …}} to /invocations.

    Parameters
    ----------
    folder : path
        The folder that calibra fit, compare or study wrote, or Calibrator.save.
    name : str or None
        Name of a new run; None is the folder's name.
    model : str
        Name of the model.

    Returns
    -------
    str
        The id of the run.

    Examples
    --------
    >>> import tempfile, numpy as np, localcal, localcal.integrations.tracking
    >>> y = np.arange(300) % 3
    >>> model = localcal.Calibrator("ts").fit(4 * np.eye(3)[(y + (np.arange(300) % 5 == 0)) % 3], y)

    >>> import mlflow
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    ...     _ = mlflow.set_experiment(experiment_id=mlflow.create_experiment("example", f"{folder}/artifacts"))
    ...     model.save(f"{folder}/model")
    ...     mlflow.get_run(localcal.integrations.tracking.log_run(f"{folder}/model")).data.params["method"]
    'ts'
    """
    import mlflow

    wrote = read(folder)
    active = mlflow.active_run()
    run = active or mlflow.start_run(run_name=name or wrote.folder.name)
    try:
        mlflow.log_params(wrote.parameters)
        mlflow.log_metrics(wrote.metrics)
        for epoch, losses in wrote.losses:
            mlflow.log_metrics(losses, step=epoch)
        for path in wrote.files:
            mlflow.log_artifact(str(path), "figures" if path.suffix in FIGURES else None)
        if wrote.model:
            _log_model(mlflow, wrote, model)
    except BaseException:
        if active is None:
            mlflow.end_run("FAILED")
        raise
    if active is None:
        mlflow.end_run()
    return typing.cast(str, run.info.run_id)


def _log_model(mlflow: typing.Any, wrote: Written, name: str) -> None:
    class Model(mlflow.pyfunc.PythonModel):  # type: ignore[misc]  # seen without types
        def load_context(self, context: typing.Any) -> None:
            from localcal import Calibrator

            self.calibrator = Calibrator.load(context.artifacts["run"])

        def predict(self, context, model_input, params=None):  # type: ignore[no-untyped-def]  # MLflow reads types as a schema
            from localcal.integrations.tracking import predicted

            return predicted(self.calibrator, model_input)

    mlflow.pyfunc.log_model(name=name, python_model=Model(), artifacts={"run": str(wrote.folder)}, pip_requirements=[f"calibra=={localcal.__version__}"])


def predicted(calibrator: Calibrator, rows: typing.Any) -> Array:
    """Calibrated probabilities (N×C) of what a pyfunc is given."""
    if isinstance(rows, dict):
        return calibrator.predict_proba(np.asarray(rows["logits"]), None if rows.get("features") is None else np.asarray(rows["features"]))
    return calibrator.predict_proba(rows)


def log_wandb(folder: str | os.PathLike[str], *, mode: typing.Literal["offline", "online", "disabled"] = "offline", **more: typing.Any) -> str:
    """Logs a folder to Weights & Biases as a run of its own.

    Parameters
    ----------
    folder : path
        The folder that calibra fit, compare or study wrote, or Calibrator.save.
    mode : {"offline", "online", "disabled"}
        Of wandb.init.
    **more
        For wandb.init, such as project="calibra".

    Returns
    -------
    str
        The id of the run.

    Examples
    --------
    >>> import tempfile, numpy as np, localcal, localcal.integrations.tracking
    >>> y = np.arange(300) % 3
    >>> model = localcal.Calibrator("ts").fit(4 * np.eye(3)[(y + (np.arange(300) % 5 == 0)) % 3], y)

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model")
    ...     isinstance(localcal.integrations.tracking.log_wandb(f"{folder}/model", mode="disabled", dir=folder), str)
    True
    """
    import wandb

    wrote = read(folder)
    more = {"project": "calibra", "name": wrote.folder.name, **more}
    with wandb.init(mode=mode, config=wrote.parameters, **more) as run:
        for name in dict.fromkeys(name for _, losses in wrote.losses for name in losses):
            run.define_metric(name, step_metric="epoch")
        for epoch, losses in wrote.losses:
            run.log({"epoch": epoch, **losses})
        run.summary.update(wrote.metrics)
        for path in wrote.files:
            if path.suffix == ".png":
                run.log({f"figures/{path.stem}": wandb.Image(str(path))})
            elif path.suffix == ".html":
                run.log({path.stem: wandb.Html(path.read_text(encoding="utf-8"))})
        if wrote.model:
            held = wandb.Artifact(wrote.folder.name, type="model")
            for path in sorted(wrote.folder.iterdir()):
                if path.is_file():
                    held.add_file(str(path))
            run.log_artifact(held)
        return typing.cast(str, run.id)
