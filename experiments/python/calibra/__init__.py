"""Local multiclass calibration: the command calibra, from Python.

Calibrator     fits a method to a classifier's logits and calibrates others
evaluate       measures probabilities, with intervals and noise floors
diagnose       says in which regions, classes and groups probabilities are wrong
run            runs any command of calibra

All of them run the binary that came with the package. What it refuses is an InputError,
what it warns of a CalibraWarning.
"""
from calibra.calibrator import Calibrator
from calibra.command import CalibraWarning, InputError, run
from calibra.judging import Diagnosis, Evaluation, Floor, Metric, diagnose, evaluate

__all__ = ["CalibraWarning", "Calibrator", "Diagnosis", "Evaluation", "Floor", "InputError", "Metric", "diagnose", "evaluate", "run"]
