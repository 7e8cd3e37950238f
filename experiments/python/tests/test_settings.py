"""The types of the settings are those that the command lists; a keyword that is none is refused, by types and where it is called.

python tests/test_settings.py > localcal/keywords.py writes them.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import localcal
from test_calibra import rows

BEGINS = '''"""The settings of all methods as keywords of Calibrator; tests/test_settings.py writes this file."""
from __future__ import annotations

import collections.abc
import typing


class Settings(typing.TypedDict, total=False):
    """Which of these a method has, `calibra methods NAME` and localcal.settings(NAME) tell."""

'''


def typed(said):
    """A type of Python for the words of the command, which another method may have others in."""
    if any(one.startswith("list") for one in said):
        return f"collections.abc.Sequence[{'float' if any('number' in one for one in said) else 'str'}]"
    words = dict.fromkeys(word for one in said if one.startswith("word of ") for word in one.removeprefix("word of ").split(", "))
    if words:
        return "typing.Literal[%s]" % ", ".join(f'"{word}"' for word in sorted(words))
    return "int" if all(one.startswith("whole") for one in said) else "float"


def written():
    """The text of localcal/keywords.py."""
    found = {}
    for method in localcal.methods():
        for setting in localcal.settings(method.name):
            found.setdefault(setting.keyword, set()).add(setting.type)
    return BEGINS + "".join(f"    {name}: {typed(said)}\n" for name, said in sorted(found.items()))


def test_the_types_are_those_of_the_command():
    assert (pathlib.Path(localcal.__file__).parent / "keywords.py").read_text(encoding="utf-8") == written()


RIGHT = """import localcal
import numpy as np

localcal.Calibrator("vq", seed=1, codebook__slots=16, optim__rate=3e-4, optim__rule="adamw", scores="logits")
localcal.Calibrator("ts", random_state=np.random.default_rng(0), temperature__prior=0.2)
"""
WRONG = ['localcal.Calibrator(methd="ts")', "localcal.Calibrator(codebook__slotz=16)", 'localcal.Calibrator(codebook__slots="many")', 'localcal.Calibrator(optim__rule="adm")']


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_types_refuse_wrong_keywords(checker, tmp_path):
    pytest.importorskip(checker)
    if checker == "pyright" and subprocess.run([sys.executable, "-m", "pyright", "--version"], capture_output=True).returncode:
        pytest.skip("pyright fetches Node, which cannot be had here")
    shutil.copytree(pathlib.Path(localcal.__file__).parent, tmp_path / "localcal")
    (tmp_path / "mypy.ini").write_text("[mypy]\nignore_missing_imports = True\nfollow_imports_for_stubs = True\n")
    (tmp_path / "said.py").write_text(RIGHT + "".join(line + "\n" for line in WRONG))
    how = ["--config-file", "mypy.ini", "--cache-dir", "/dev/null"] if checker == "mypy" else ["--pythonpath", sys.executable]
    said = subprocess.run([sys.executable, "-m", checker, *how, "said.py"], cwd=tmp_path, capture_output=True, text=True).stdout
    lines = {int(line) for line in re.findall(r"said\.py:(\d+)(?::\d+)*:? (?:- )?error", said)}
    assert lines == {RIGHT.count("\n") + 1 + k for k in range(len(WRONG))}, said


@pytest.mark.parametrize("wrong, nearest", [({"methd": "ts"}, "'method'"), ({"codebook__slotz": 16}, "'codebook__slots'"), ({"random_sate": 0}, "'random_state'"), ({"zeal": 1}, "there are method, ")])
def test_a_wrong_keyword_is_told_the_nearest(wrong, nearest):
    with pytest.raises(TypeError, match=nearest):
        localcal.Calibrator(**wrong)
    with pytest.raises(localcal.InputError, match=nearest):
        localcal.Calibrator().set_params(**wrong)


def test_a_program_of_its_own_has_settings_of_its_own():
    assert localcal.Calibrator("mine", program="./mine", mine__width=3).get_params()["mine__width"] == 3


def test_lists_are_settings():
    logits, y, _ = rows(0)
    fitted = localcal.Calibrator("dc-odir", odir__strengths=[1, 0.1]).fit(logits, y)
    assert json.loads(fitted.run_["config.json"])["settings"]["odir.strengths"] == [1, 0.1]


def test_random_state_is_the_seed():
    logits, y, features = rows(0)
    one, other = (localcal.Calibrator("vq", optim__epochs=2, **said).fit(logits, y, features) for said in ({"seed": 5}, {"random_state": 5}))
    assert one.run_["model.safetensors"] == other.run_["model.safetensors"]
    with pytest.raises(localcal.InputError, match="leave out one"):
        localcal.Calibrator("ts", seed=1, random_state=2).fit(logits, y)
    drawn = np.random.RandomState(0)
    expected = np.random.RandomState(0).randint(1 << 31)
    assert json.loads(localcal.Calibrator("ts", random_state=drawn).fit(logits, y).run_["config.json"])["seed"] == expected


def test_what_was_fitted_can_be_read():
    logits, y, features = rows(0)
    unfitted = localcal.Calibrator("ts")
    assert not any(hasattr(unfitted, name) for name in ("temperature_", "weights_", "classes_", "n_features_in_", "verdict_"))
    for method in ("ts", "ts-published"):
        model = localcal.Calibrator(method).fit(logits, y, features)
        scaled = np.exp(logits / model.temperature_)
        assert np.allclose(model.predict_proba(logits, features), scaled / scaled.sum(axis=1, keepdims=True), atol=1e-6)  # ONNX Runtime's
    model = localcal.Calibrator("vector").fit(logits, y)
    assert {name: value.shape for name, value in model.weights_.items()} == {"vector/bias": (4,), "vector/scale": (4,)}
    assert model.verdict_ is None and not hasattr(model, "temperature_") and model.n_features_in_ == 4
    assert model.compare(logits, y, folds=2).verdict == model.verdict_


def test_compare_takes_the_classes():
    logits, y, _ = rows(0)
    names = np.array(["d", "b", "a", "c"])
    by_number, by_name = (localcal.Calibrator("ts").compare(logits, of, folds=2, **said) for of, said in ((y, {}), (names[y], {"classes": names})))
    assert by_number.verdict == by_name.verdict


def test_dir_and_html():
    assert {"Calibrator", "CalibratedClassifier", "evaluate", "methods", "settings", "torch"} <= set(dir(localcal))
    pytest.importorskip("sklearn")
    assert "codebook__slots" in localcal.Calibrator("vq", codebook__slots=16)._repr_html_()


if __name__ == "__main__":
    sys.stdout.write(written())
