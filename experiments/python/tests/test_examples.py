"""Every public name of the package has its docs in numpydoc's form, and an example that gives what it says."""
import doctest
import importlib
import inspect
import pathlib
import re
import shutil
import sys
import warnings

import pytest

# What each public module needs beyond the package's own dependencies.
NEEDED = {"localcal": ["sklearn", "matplotlib"], "localcal.metrics": [], "localcal.integrations.probmetrics": ["torch", "probmetrics"], "localcal.torch": ["torch", "onnx"], "localcal.integrations.tracking": ["mlflow", "wandb"], "localcal.integrations.ray": ["ray.data"], "localcal.integrations.spark": ["pyspark", "pandas"]}

# Of numpydoc.validate: no docs, sections of other names or in another order, no summary; a parameter that is not documented, not
# there, out of order, or without its type; nothing about what is returned; no example.
ASKED = {"GL06", "GL07", "GL08", "SS01", "PR01", "PR02", "PR03", "PR04", "RT01", "EX01"}


def module(name):
    for needed in NEEDED[name]:
        pytest.importorskip(needed, reason=f"{needed} is not installed")
    return importlib.import_module(name)


def public(home):
    """The public functions and classes of a module, each with the classes of the package that it is made of."""
    for name in home.__all__:
        if not inspect.ismodule(said := getattr(home, name)):
            yield name, said, [of for of in getattr(said, "__mro__", ()) if of.__module__.startswith("localcal.")]


@pytest.mark.parametrize("name", NEEDED)
def test_docs_are_numpydocs(name):
    validate = pytest.importorskip("numpydoc.validate", reason="numpydoc is not installed").validate

    def missing(path):
        return {code: text for code, text in validate(f"{name}.{path}")["errors"] if code in ASKED}

    for path, _, made_of in public(module(name)):
        assert not missing(path), path
        shown = "".join(inspect.getdoc(of).partition("Examples\n---")[2] for of in made_of)
        for of in made_of:
            for part, value in vars(of).items():
                if not part.startswith("_") and (callable(value) or isinstance(value, (property, classmethod))):
                    found = missing(f"{path}.{part}")
                    if f".{part}" in shown:  # in the example of the class
                        found.pop("EX01", None)
                    assert not found, f"{path}.{part}"


@pytest.mark.parametrize("name", NEEDED)
def test_examples(name, monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)  # of Spark's workers
    if name == "localcal.integrations.spark" and not shutil.which("java"):
        pytest.skip("Spark needs a Java")
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path, said, made_of in public(module(name)):
            for of in made_of or [said]:
                for example in finder.find(of, path, module=inspect.getmodule(of)):
                    runner.run(example)
    assert runner.tries > 0 and runner.failures == 0


def test_the_readmes_first_lines(tmp_path, monkeypatch):
    """They run as they stand, and write into the folder that they name."""
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"```python\n(.*?)```", text, re.S)
    exec(lines, {})
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
