"""Runs the binary: its progress, its warnings, its errors, and Ctrl-C."""
from __future__ import annotations

import collections.abc
import contextlib
import json
import logging
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import typing
import warnings

import numpy as np

from localcal.spoken import spoken

_logger = logging.getLogger("localcal")  # of the command's notes
CHECK = 4  # exit code of an apply whose verdict is to check the rows


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


def run(*args: object, within: str | os.PathLike[str] | None = None, program: str | os.PathLike[str] | None = None) -> str:
    """Runs the command with these arguments and returns its output.

    Ctrl-C ends it.

    Parameters
    ----------
    *args : object
        Its arguments, each converted by str.
    within : path or None
        A folder whose name is left out of its sentences and its JSON.
    program : path or None
        The binary of a program with parts of its own, such as `calibra new` writes; None is the command of this package.

    Returns
    -------
    str
        Its standard output. A warning is a CalibraWarning, as that to check the rows of apply (exit code 4) is; refused input is an
        InputError, and failed work a FitError.

    Examples
    --------
    >>> import json, localcal
    >>> [m["method"] for m in json.loads(localcal.run("methods", "--json"))][-1]
    'dc-published'
    """
    alone: dict[str, typing.Any] = {"start_new_session": True}
    if sys.platform == "win32":
        alone = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    child = subprocess.Popen([binary(program), *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", **alone)
    told: list[str] = []
    reader = threading.Thread(target=_follow, args=(child.stderr, told, within), daemon=True)
    reader.start()
    assert child.stdout is not None
    with _unwound():
        try:
            printed: str = child.stdout.read()
            code = child.wait()
        except BaseException:
            _end(child)
            raise
        finally:
            reader.join(5)
            child.stdout.close()
    if within is not None:
        told = [line.replace(str(within) + os.sep, "") for line in told]
        printed = printed.replace(json.dumps(str(within) + os.sep)[1:-1], "")  # of JSON, as run is asked for
    if code in (0, CHECK):
        for line in told:
            if line.startswith("calibra: "):
                line = line.removeprefix("calibra: ").removeprefix("warning: ")
                _warn(line if within is None else spoken(line))
        return printed
    sentence = "\n".join(told[-1:]).removeprefix("calibra: ")
    if within is not None:
        sentence = spoken(sentence)
    if code == 2:
        raise InputError(sentence)
    if code == 130:
        raise KeyboardInterrupt
    if code < 0:
        sentence = f"calibra was ended by signal {-code}"
    raise FitError(sentence or f"calibra ended with exit code {code}", code)


def _warn(sentence: str) -> None:
    """A warning that names the line of the caller of this package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "localcal":
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, CalibraWarning, stacklevel=level)


def _end(child: subprocess.Popen[str]) -> None:
    """Asks the command to end, which removes what it had begun to write."""
    if sys.platform == "win32":
        child.send_signal(signal.CTRL_BREAK_EVENT)
    else:
        child.send_signal(signal.SIGINT)
    try:
        child.wait(10)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):  # a second Ctrl-C
        child.kill()
        child.wait()


class _Terminated(BaseException):
    """SIGTERM, on its way up to whoever must clean up."""


@contextlib.contextmanager
def _unwound() -> collections.abc.Iterator[None]:
    """Holds SIGTERM, at which Python would end at once, until the block has ended the command and removed its files."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def terminate(*_: object) -> None:
        raise _Terminated

    signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    except _Terminated:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _follow(lines: typing.Any, told: list[str], within: str | os.PathLike[str] | None = None) -> None:
    """Shows lines of progress as a bar, where tqdm is there, and keeps the others; those that are no warning are logged."""
    bar: typing.Any = None
    with lines:
        for line in lines:
            line = line.rstrip()
            progress = re.fullmatch(r"(.*) \((\d+) %\)", line)
            if not progress:
                if line:
                    told.append(line)
                note = line if within is None else spoken(line.replace(str(within) + os.sep, ""))
                if note and not note.startswith("calibra: "):
                    _logger.info("%s", note)
                continue
            if bar is None:
                try:
                    from tqdm.auto import tqdm
                except ImportError:
                    continue
                bar = tqdm(total=100, bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed}", leave=False)
            bar.set_description_str(progress[1], refresh=False)
            bar.n = int(progress[2])
            bar.refresh()
    if bar is not None:
        bar.close()


MEMORY = "/dev/shm"  # where Linux keeps files in memory
ROOM = 64 << 20  # bytes that models, pages and the like may take there


@contextlib.contextmanager
def scratch(*arrays: typing.Any) -> collections.abc.Iterator[pathlib.Path]:
    """A folder for the files that go to the command, these arrays (or None) among them, and come from it.

    It lies in memory where that has room for four times the arrays: what the command writes of them is float64.
    """
    with _unwound(), tempfile.TemporaryDirectory(prefix="calibra-", dir=_memory(4 * sum(np.asarray(untraced(values)).nbytes for values in arrays) + ROOM)) as folder:
        yield pathlib.Path(folder)


def _memory(size: int) -> str | None:
    """A folder in memory that has room for so many bytes; None, which is the folder for temporary files, where there is none."""
    if not os.access(MEMORY, os.W_OK | os.X_OK):
        return None
    free = os.statvfs(MEMORY)
    return MEMORY if free.f_bavail * free.f_frsize >= size else None


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
