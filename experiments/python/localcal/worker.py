"""The command as a process that answers one request after another, and ends when this one does."""

from __future__ import annotations

import atexit
import collections.abc
import contextlib
import json
import logging
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import typing
import uuid

import numpy as np

from localcal.command import FitError, InputError, binary, untraced, warn
from localcal.spoken import spoken

_logger = logging.getLogger("localcal")  # of the command's notes
CHECK = 4  # exit code of an apply whose verdict is to check the rows
INTERRUPTED = 130
FAULT = 70  # of the program, which may be in any state then
ANSWERED = b"\0"  # ends what the command prints of a request

MEMORY = "/dev/shm"  # where Linux keeps files in memory
ROOM = 64 << 20  # bytes that models, pages and the like may take there


def run(*args: object, program: str | os.PathLike[str] | None = None) -> str:
    """Runs the command with these arguments and returns its output.

    Ctrl-C ends it, and so does the end of this process, however that ends.

    Parameters
    ----------
    *args : object
        Its arguments, each converted by str.
    program : path or None
        The binary of a program with parts of its own, such as `calibra new` writes; None is the command of this
        package.

    Returns
    -------
    str
        Its standard output. A warning is a CalibraWarning, as that to check the rows of apply (exit code 4) is; refused
        input is an InputError, and failed work a FitError.

    Examples
    --------
    >>> import json, localcal
    >>> [m["method"] for m in json.loads(localcal.run("methods", "--json"))][-1]
    'dc-published'
    """
    worker = Worker(binary(program), os.environ.copy(), None)
    try:
        return worker.ask(*args)
    finally:
        worker.close()


class Worker:
    """A process of the command, in a folder (None is the current one), for one request at a time."""

    def __init__(self, program: str, environment: dict[str, str], within: str | None) -> None:
        self.program, self.environment = program, environment
        self.folder: pathlib.Path | None = None  # of the request, which the process removes if this one cannot
        alone: dict[str, typing.Any] = {"start_new_session": True}  # so that Ctrl-C is for Python alone
        if sys.platform == "win32":
            alone = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        at = os.path.abspath(shutil.which(program) or program)
        self.child = subprocess.Popen(
            [program, "worker"],
            executable=at,
            cwd=within,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **alone,
        )
        _alive.add(self)

    def ask(self, *args: object) -> str:
        """What the command prints of these arguments; its warnings, errors and progress are those of Python."""
        printed, warned = self.hear(*args)
        for line in warned:
            warn(line)
        return printed

    def hear(self, *args: object) -> tuple[str, list[str]]:
        """What the command prints of these arguments, and its warnings."""
        told: list[str] = []
        reader = threading.Thread(target=_follow, args=(self._lines(), told, self._spoken), daemon=True)
        reader.start()
        try:
            self._send(args=[str(word) for word in args])
            printed, code = self._answer()
        except BaseException:
            self.close()
            raise
        finally:
            reader.join(5)
        if code == FAULT:
            self.close()
        return self._said(printed, code, told)

    def _send(self, **request: typing.Any) -> None:
        assert self.child.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # of one that has ended, as the answer says
            self.child.stdin.write(json.dumps(request).encode() + b"\n")
            self.child.stdin.flush()

    def _answer(self) -> tuple[str, int]:
        """What is printed, and the exit code; that of a process that has ended is its own."""
        assert self.child.stdout is not None
        lines: list[bytes] = []
        for line in self.child.stdout:
            text, answered, code = line.partition(ANSWERED)
            lines.append(text)
            if answered:
                return b"".join(lines).decode("utf-8", "replace"), int(code)
        return "", self.child.wait()

    def _lines(self) -> collections.abc.Iterator[str]:
        """The lines of standard error until the request is answered."""
        assert self.child.stderr is not None
        for line in self.child.stderr:
            if line.startswith(ANSWERED):
                return
            yield line.decode("utf-8", "replace")

    def _said(self, printed: str, code: int, told: list[str]) -> tuple[str, list[str]]:
        if self.folder is not None:
            printed = printed.replace(json.dumps(str(self.folder) + os.sep)[1:-1], "")  # of JSON, as it is asked for
        if code in (0, CHECK):
            return printed, [
                self._spoken(line.removeprefix("calibra: ").removeprefix("warning: "))
                for line in told
                if line.startswith("calibra: ")
            ]
        sentence = self._spoken("\n".join(told[-1:]).removeprefix("calibra: "))
        if code == 2:
            raise InputError(sentence)
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        if code < 0:
            sentence = f"calibra was ended by signal {-code}"
        raise FitError(sentence or f"calibra ended with exit code {code}", code)

    def _spoken(self, line: str) -> str:
        """A line in the words of a caller, who does not know the files and flags of a request with a folder."""
        return line if self.folder is None else spoken(line.replace(str(self.folder) + os.sep, ""))

    def begin(self, parent: str) -> None:
        """Makes a folder for the files of the next requests."""
        self.folder = pathlib.Path(parent, f"calibra-{uuid.uuid4().hex}")
        self._send(folder=str(self.folder))
        self.folder.mkdir(mode=0o700)

    def end(self) -> None:
        """Removes the folder."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None

    def close(self) -> None:
        """Ends the process, which leaves what it does and removes what it had begun to write."""
        pipes = [pipe for pipe in (self.child.stdin, self.child.stdout, self.child.stderr) if pipe is not None]
        try:
            pipes[0].close()
            self.child.wait(10)
        except (BrokenPipeError, subprocess.TimeoutExpired, KeyboardInterrupt):  # a second Ctrl-C
            self.child.kill()
            self.child.wait()
        finally:
            _alive.discard(self)
            self.end()
        for pipe in pipes[1:]:
            pipe.close()

    def disown(self) -> None:
        """Lets go of the process in a fork, where it is the parent's."""
        nothing = os.open(os.devnull, os.O_RDWR)
        for pipe in (self.child.stdin, self.child.stdout, self.child.stderr):
            if pipe is not None and not pipe.closed:
                os.dup2(nothing, pipe.fileno(), inheritable=False)
        os.close(nothing)
        self.child.returncode = 0


_alive: set[Worker] = set()
_idle: list[Worker] = []  # at most one; others that ran beside it end
_lock = threading.Lock()


@contextlib.contextmanager
def working(
    *arrays: typing.Any, program: str | os.PathLike[str] | None = None
) -> collections.abc.Iterator[tuple[Worker, pathlib.Path]]:
    """A worker, and a folder for the files that it is handed, these arrays (or None) among them, and that it writes.

    The folder lies in memory where that has room for four times the arrays: what the command writes of them is float64.
    """
    worker = _taken(binary(program))
    try:
        worker.begin(
            _memory(4 * sum(np.asarray(untraced(values)).nbytes for values in arrays) + ROOM) or tempfile.gettempdir()
        )
        assert worker.folder is not None
        yield worker, worker.folder
    finally:
        worker.end()
        with _lock:
            kept = not _idle and worker in _alive
            if kept:
                _idle.append(worker)
        if not kept and worker in _alive:
            worker.close()


def _taken(program: str) -> Worker:
    """The worker that waits, if it runs this program with the environment of now, or a new one."""
    environment = os.environ.copy()
    with _lock:
        worker = _idle.pop() if _idle else None
    if worker is not None:
        if worker.program == program and worker.environment == environment and worker.child.poll() is None:
            return worker
        worker.close()
    return Worker(program, environment, os.path.dirname(os.path.abspath(shutil.which(program) or program)))


def _memory(size: int) -> str | None:
    """A folder in memory that has room for so many bytes, None where there is none."""
    if not os.access(MEMORY, os.W_OK | os.X_OK):
        return None
    free = os.statvfs(MEMORY)
    return MEMORY if free.f_bavail * free.f_frsize >= size else None


def _follow(
    lines: collections.abc.Iterable[str], told: list[str], words: collections.abc.Callable[[str], str]
) -> None:
    """Shows lines of progress as a bar, where tqdm is there, and keeps the others; it logs, in words, those that are no
    warning."""
    bar: typing.Any = None
    for line in lines:
        line = line.rstrip()
        progress = re.fullmatch(r"(.*) \((\d+) %\)", line)
        if not progress:
            if line:
                told.append(line)
            if not line.startswith("calibra: ") and (note := words(line)):
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


def _forked() -> None:
    """Forgets, in a fork, the workers of the parent: a pipe that it held would keep them from ending with that."""
    global _lock
    for worker in list(_alive):
        worker.disown()
    _alive.clear()
    _idle.clear()
    _lock = threading.Lock()


def _ended() -> None:
    for worker in list(_alive):
        worker.close()


atexit.register(_ended)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
