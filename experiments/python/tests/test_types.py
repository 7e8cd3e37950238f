"""The package has types, a version, and the command's errors and default method."""
import json
import pathlib
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest

import localcal
from test_calibra import CAL

PACKAGE = pathlib.Path(localcal.__file__).parent
PROJECT = pathlib.Path(__file__).parents[1] / "pyproject.toml"


def test_types_by_mypy(tmp_path):
    pytest.importorskip("mypy")
    alone = shutil.copytree(PACKAGE, tmp_path / "localcal")  # mypy refuses a folder beside other packages, as an installed one is
    said = subprocess.run([sys.executable, "-m", "mypy", "--config-file", PROJECT, "--strict", "--cache-dir", "/dev/null", alone], capture_output=True, text=True)
    assert said.returncode == 0, said.stdout + said.stderr
    assert (PACKAGE / "py.typed").is_file()


def test_types_by_pyright():
    pytest.importorskip("pyright")
    pyright = [sys.executable, "-m", "pyright"]
    if subprocess.run([*pyright, "--version"], capture_output=True).returncode:
        pytest.skip("pyright fetches Node, which cannot be had here")
    said = subprocess.run([*pyright, "--project", PROJECT, "--pythonpath", sys.executable], capture_output=True, text=True)
    assert said.returncode == 0 and "0 errors, 0 warnings" in said.stdout, said.stdout + said.stderr


def test_version():
    assert localcal.__version__.split(".")[0].isdecimal()


def test_the_default_method_is_the_commands(tmp_path):
    np.savez(tmp_path / "rows.npz", cal_logits=CAL[0], cal_labels=CAL[1], cal_features=CAL[2])
    said = json.loads(localcal.run("fit", "--in", tmp_path / "rows.npz", "--out", tmp_path / "run", "--json"))
    model = localcal.Calibrator().fit(*CAL[:2], features=CAL[2])
    assert model.result_["method"] == said["method"]
    assert model.run_["model.safetensors"] == (tmp_path / "run" / "model.safetensors").read_bytes()


def test_errors_keep_the_commands_exit_codes(tmp_path):
    with pytest.raises(localcal.InputError) as refused:
        localcal.run("fit", "--in", tmp_path / "none.npz", "--out", tmp_path / "run")
    assert refused.value.exit_code == 2 and isinstance(refused.value, ValueError)
    if "none" not in json.loads(localcal.run("info", "--json"))["device"]:
        pytest.skip("there is a device, whose lack is the failure here")
    np.savez(tmp_path / "rows.npz", cal_logits=CAL[0], cal_labels=CAL[1], cal_features=CAL[2])
    with pytest.raises(localcal.FitError) as failed:
        localcal.run("fit", "--in", tmp_path / "rows.npz", "--method", "vq", "--device", "cuda", "--out", tmp_path / "run")
    assert failed.value.exit_code == 3 and "\n" not in str(failed.value) and isinstance(failed.value, RuntimeError)
    again = pickle.loads(pickle.dumps(failed.value))
    assert (str(again), again.exit_code) == (str(failed.value), 3)
