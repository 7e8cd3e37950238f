"""Local multiclass calibration: the command calibra, from Python.

Calibrator     fits a method to a classifier's logits and calibrates others
CalibratedClassifier
               a classifier of scikit-learn with calibrated probabilities, where that is installed
evaluate       measures probabilities, with intervals and noise floors
diagnose       says in which regions, classes and groups probabilities are wrong
methods        lists the methods, and settings those of one
ReliabilityDisplay, reliability, calibration_curve
               how often the top class is right against its probability, as a picture and as numbers
run            runs any command of calibra
metrics        scores as functions, for make_scorer of scikit-learn
torch          reads a PyTorch model's outputs; joins the model and its calibrator in one module
integrations   ways to Ray, Spark, MLflow, Weights & Biases and probmetrics, where they are installed

All of them run the binary of the package. If it refuses its input, that is an InputError; if its work
fails, a FitError. A warning is a CalibraWarning.
"""
from __future__ import annotations

import importlib
import importlib.metadata
import typing

from localcal import metrics
from localcal.calibrator import Calibrator
from localcal.command import CalibraWarning, FitError, InputError, lacking
from localcal.display import Reliability, ReliabilityDisplay, calibration_curve, reliability
from localcal.judging import Comparison, Decomposition, Diagnosis, Evaluation, Floor, Metric, Verdict, diagnose, evaluate
from localcal.listing import Method, Setting, methods, settings
from localcal.shift import Check
from localcal.worker import run

__all__ = ["CalibraWarning", "CalibratedClassifier", "Calibrator", "Check", "Comparison", "Decomposition", "Diagnosis", "Evaluation", "FitError", "Floor", "InputError", "Method", "Metric", "Reliability", "ReliabilityDisplay", "Setting", "Verdict", "calibration_curve", "diagnose", "evaluate", "methods", "metrics", "reliability", "run", "settings"]
LAZY = ("CalibratedClassifier", "integrations", "torch")  # what they need is no dependency


if typing.TYPE_CHECKING:
    from localcal.classifier import CalibratedClassifier

try:
    __version__ = importlib.metadata.version("localcal")
except importlib.metadata.PackageNotFoundError:  # found by its path, as in a clone
    __version__ = "0.0.0.dev0"


def __getattr__(name: str) -> typing.Any:
    if name not in LAZY:
        raise AttributeError(f"module 'localcal' has no attribute {name!r}")
    try:
        if name == "CalibratedClassifier":
            return importlib.import_module("localcal.classifier").CalibratedClassifier
        return importlib.import_module(f"localcal.{name}")
    except ModuleNotFoundError as error:
        raise lacking(f"localcal.{name}", error) from None


def __dir__() -> list[str]:
    return sorted({*__all__, *LAZY, "__version__"})
