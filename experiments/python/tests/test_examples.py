"""The examples in the docs of the package give what they say."""
import doctest
import functools
import importlib
import inspect
import warnings

import pytest

import calibra

MODULES = {"calibrator": None, "classifier": "sklearn", "command": None, "judging": None, "metrics": None, "probmetrics": "probmetrics", "torch": "onnx"}


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    if MODULES[name]:
        pytest.importorskip(MODULES[name])
    if name == "torch":
        pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said = doctest.testmod(importlib.import_module(f"calibra.{name}"), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert said.attempted > 0 and said.failed == 0


def test_what_is_public_has_an_example():
    for name in (*calibra.__all__, *(f"metrics.{name}" for name in ("nll", "brier", "ece", "ece_top", "mce", "ecce", "lce", "mlce", "noise"))):
        said = functools.reduce(getattr, name.split("."), calibra)
        if inspect.isfunction(said) or name in ("Calibrator", "CalibratedClassifier"):
            assert ">>>" in said.__doc__ or "for an example" in said.__doc__, name
