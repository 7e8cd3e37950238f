"""The command: where its program is, its errors and warnings, and what it is handed."""
from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import sys
import sysconfig
import typing
import warnings

import numpy as np


class InputError(ValueError):
    """The command refuses wrong rows, settings or flags; the text is its sentence. exit_code is 2.

    Examples
    --------
    >>> import localcal
    >>> try:
    ...     localcal.run("fit", "--in", "none.npz", "--out", "run")
    ... except localcal.InputError as refused:
    ...     refused.exit_code
    2
    """

    exit_code = 2


class FitError(RuntimeError):
    """Work of the command that failed, in its sentence: a full disk, a fit that diverged, no device.

    Parameters
    ----------
    sentence : str
    exit_code : int
        The command's: 1, 3 without the device that was asked for, 70 for a fault of the program.

    Examples
    --------
    >>> import localcal
    >>> failed = localcal.FitError("there is no device to compute on", 3)
    >>> str(failed), failed.exit_code
    ('there is no device to compute on', 3)
    """

    def __init__(self, sentence: str, exit_code: int = 1) -> None:
        super().__init__(sentence, exit_code)
        self.exit_code = exit_code

    def __str__(self) -> str:
        return str(self.args[0])


class CalibraWarning(UserWarning):
    """A warning of the command.

    Examples
    --------
    >>> import warnings, localcal, numpy as np
    >>> y = np.arange(300) % 3
    >>> with warnings.catch_warnings(record=True) as heard:
    ...     warnings.simplefilter("always")
    ...     _ = localcal.Calibrator().fit(4 * np.eye(3)[(y + (np.arange(300) % 5 == 0)) % 3], y)      # without features
    >>> issubclass(heard[0].category, localcal.CalibraWarning)
    True
    """


def lacking(needed: str, error: ModuleNotFoundError) -> ModuleNotFoundError:
    """What an import of needed says where that of another package has failed."""
    package = {"sklearn": "scikit-learn"}.get(name := str(error.name), name)
    return ModuleNotFoundError(f"{needed} needs {name}, which is not installed: pip install {package}", name=name)


def warn(sentence: str) -> None:
    """A CalibraWarning that names the line of the caller of this package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "localcal":
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, CalibraWarning, stacklevel=level)


def binary(program: str | os.PathLike[str] | None = None) -> str:
    """The command that came with this package; program or the environment variable CALIBRA names another."""
    if named := program or os.environ.get("CALIBRA"):
        if shutil.which(named) is None:
            raise FileNotFoundError(f"{os.fspath(named)} is no program; name the binary that go build writes")
        return os.fspath(named)
    name = "calibra" + (sysconfig.get_config_var("EXE") or "")
    beside = pathlib.Path(__file__).resolve().parent.parent  # pip install --target
    folders: list[str | pathlib.Path] = [sysconfig.get_path("scripts"), beside / "bin", pathlib.Path(sys.executable).parent]
    with contextlib.suppress(KeyError):
        folders.append(sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user")))
    for folder in folders:
        if (path := pathlib.Path(folder) / name).is_file():
            return str(path)
    if found := shutil.which("calibra"):
        return found
    raise FileNotFoundError("the command calibra is not there; install the wheel of this platform, or name the binary in the environment variable CALIBRA")


def array(values: typing.Any, name: str) -> np.ndarray[typing.Any, np.dtype[typing.Any]]:
    """values as an array; what a mask hides is missing, and never read."""
    if np.ma.is_masked(values):
        row = int(np.argwhere(np.ma.getmaskarray(values))[0][0])
        raise InputError(f"{name} is masked at row {row}: the value is missing; leave out the rows that lack one, or fill them in")
    read = np.asarray(untraced(values))
    if read.dtype.name == "bfloat16":  # of ml_dtypes, as JAX has it
        read = read.astype(np.float32)
    return read


def untraced(values: typing.Any) -> typing.Any:
    """A tensor of torch as numpy reads it: without its gradient, on the host, and in float32 where numpy lacks its type."""
    if not (hasattr(values, "detach") and hasattr(values, "cpu")):
        return values
    values = values.detach().cpu()
    return values.float() if str(getattr(values, "dtype", "")).endswith("bfloat16") else values


def write(path: pathlib.Path, **arrays: typing.Any) -> None:
    """Writes the arrays that are not None as an npz file; numpy copies none of them."""
    given: dict[str, typing.Any] = {key: array(values, key) for key, values in arrays.items() if values is not None}
    for key, values in given.items():
        if key.endswith("groups") and values.dtype == object:  # dates and decimals of Python
            given[key] = values.astype(str)
    np.savez(path, **given)


def flags(values: dict[str, typing.Any]) -> list[str]:
    """Keyword arguments as flags of the command: small_bin=20 is --small-bin 20; None is left out."""
    return [f"--{key.replace('_', '-')}={plain(value)}" for key, value in values.items() if value is not None]


def plain(value: object) -> str:
    """A value as the command takes it, and a list with commas."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return ",".join(map(plain, value))
    return str(value).lower() if isinstance(value, (bool, np.bool_)) else str(value)
