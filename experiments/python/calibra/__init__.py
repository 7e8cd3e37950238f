"""Local multiclass calibration: the command calibra, from Python.

Calibrator     fits a method to a classifier's logits and calibrates others
CalibratedClassifier
               a classifier of scikit-learn with calibrated probabilities, where that is installed
evaluate       measures probabilities, with intervals and noise floors
totals         what the global metrics of some of many rows are made of
merged         the evaluation of all rows, of the totals of their parts
diagnose       says in which regions, classes and groups probabilities are wrong
run            runs any command of calibra
ray, spark     apply and evaluate many rows on these, where they are installed

All of them run the binary that came with the package. What it refuses is an InputError,
what it warns of a CalibraWarning.
"""
from calibra.calibrator import Calibrator
from calibra.command import CalibraWarning, InputError, run
from calibra.judging import Diagnosis, Evaluation, Floor, Metric, diagnose, evaluate, merged, totals

__all__ = ["CalibraWarning", "CalibratedClassifier", "Calibrator", "Diagnosis", "Evaluation", "Floor", "InputError", "Metric", "diagnose", "evaluate", "merged", "run", "totals"]


def __getattr__(name):
    if name == "CalibratedClassifier":  # scikit-learn is no dependency
        from calibra.classifier import CalibratedClassifier

        return CalibratedClassifier
    raise AttributeError(f"module 'calibra' has no attribute {name!r}")
