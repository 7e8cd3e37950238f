"""Local multiclass calibration: the command calibra, from Python.

Calibrator     fits a method to a classifier's logits and calibrates others
CalibratedClassifier
               a classifier of scikit-learn with calibrated probabilities, where that is installed
evaluate       measures probabilities, with intervals and noise floors
diagnose       says in which regions, classes and groups probabilities are wrong
run            runs any command of calibra
metrics        scores as functions, for make_scorer of scikit-learn
torch          reads a PyTorch model's outputs; joins the model and its calibrator in one module
tracking       logs what the command wrote to MLflow and Weights & Biases
probmetrics    methods as calibrators of probmetrics, which CalArena runs
ray, spark     apply and evaluate many rows on these, where they are installed

All of them run the binary of the package. If it refuses its input, that is an InputError; if its work
fails, a FitError. A warning is a CalibraWarning.
"""
from __future__ import annotations

import importlib
import importlib.metadata
import typing

from calibra import metrics
from calibra.calibrator import Calibrator
from calibra.command import CalibraWarning, FitError, InputError, run
from calibra.judging import Comparison, Decomposition, Diagnosis, Evaluation, Floor, Metric, Verdict, diagnose, evaluate

__all__ = ["CalibraWarning", "CalibratedClassifier", "Calibrator", "Comparison", "Decomposition", "Diagnosis", "Evaluation", "FitError", "Floor", "InputError", "Metric", "Verdict", "diagnose", "evaluate", "metrics", "run"]


if typing.TYPE_CHECKING:
    from calibra.classifier import CalibratedClassifier

try:
    __version__ = importlib.metadata.version("calibra")
except importlib.metadata.PackageNotFoundError:  # found by its path, as in a clone
    __version__ = "0.0.0.dev0"


def __getattr__(name: str) -> typing.Any:
    if name == "CalibratedClassifier":  # scikit-learn is no dependency
        from calibra.classifier import CalibratedClassifier

        return CalibratedClassifier
    if name in ("probmetrics", "ray", "spark", "torch", "tracking"):  # what they need is no dependency
        return importlib.import_module(f"calibra.{name}")
    raise AttributeError(f"module 'calibra' has no attribute {name!r}")
