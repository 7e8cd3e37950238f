"""The process that answers the package ends with Python, however that ends; forks and threads have their own."""

import concurrent.futures
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import localcal
from localcal import worker
from test_calibra import rows

LOGITS, Y, FEATURES = rows(5)
LONG = "localcal.Calibrator('vq', optim__epochs=100000, optim__patience=100000)"  # a fit of minutes
posix = pytest.mark.skipif(os.name == "nt", reason="signals and forks are of POSIX")


def fitted(seed=0):
    return localcal.Calibrator("ts", seed=seed).fit(LOGITS, Y).run_["model.safetensors"]


def until(true, seconds=60):
    deadline = time.monotonic() + seconds
    while not (said := true()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return said


def running(pid):
    """Whether a process runs: one that nobody waits for is none."""
    try:
        return "\nState:\tZ" not in pathlib.Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(not pathlib.Path("/proc/self/status").exists(), reason="processes are looked at as Linux has them")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("memory", [True, False])
def test_python_that_ends_leaves_nothing(tmp_path, end, memory):
    np.savez(tmp_path / "rows.npz", logits=LOGITS, y=Y, features=FEATURES)
    left, here = tmp_path / "left", tmp_path / "here"
    left.mkdir(), here.mkdir()
    program = f"""import signal, tempfile, localcal, localcal.worker, numpy
signal.signal(signal.SIGINT, signal.default_int_handler)
localcal.worker.MEMORY = {str(left) if memory else "/none"!r}
f = numpy.load({str(tmp_path / "rows.npz")!r})
localcal.Calibrator('ts').fit(f['logits'], f['y'])
print(*(w.child.pid for w in localcal.worker._alive), flush=True)
{LONG}.fit(f['logits'], f['y'], features=f['features'])"""
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=here,
        env=os.environ | {"TMPDIR": str(left)},
    )
    pid = int(child.stdout.readline())
    until(lambda: list(left.glob("*/rows.npz")))
    time.sleep(0.5)  # in the fit
    child.send_signal(end)
    child.communicate(timeout=60)
    assert child.returncode == -end
    until(lambda: not running(pid))
    assert list(left.glob("calibra-*")) == [] and list(here.iterdir()) == []  # onnxruntime leaves a file .ses


@posix
def test_a_fork_has_a_worker_of_its_own():
    mine = fitted()
    [here] = [w.child.pid for w in worker._idle]
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if fitted() == mine and worker._idle[0].child.pid != here else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert fitted() == mine and worker._idle[0].child.pid == here


@posix
def test_a_fork_does_not_keep_the_worker(tmp_path):
    """A worker ends with the process that started it, though a fork of that goes on."""
    program = f"""import os, time, localcal, localcal.worker, numpy
y = numpy.arange(300) % 3
localcal.Calibrator('ts').fit(4 * numpy.eye(3)[(y + (numpy.arange(300) % 5 == 0)) % 3], y)
if os.fork() == 0:
    time.sleep(60)
print(*(w.child.pid for w in localcal.worker._alive), os.getpid(), flush=True)
os.kill(os.getpid(), 9)"""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        pid = int(child.stdout.readline().split()[0])
        child.wait()
        until(lambda: not running(pid), 20)
    finally:
        os.killpg(child.pid, signal.SIGKILL)


@pytest.mark.parametrize("method", [m for m in ("fork", "spawn") if m in multiprocessing.get_all_start_methods()])
def test_processes_fit(method):
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        assert list(pool.map(fitted, [0, 0, 0])) == [fitted()] * 3


def test_threads_fit():
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        assert set(threads.map(fitted, [0] * 12)) == {fitted()}
    assert len(worker._idle) == len(worker._alive) == 1


@posix
def test_a_killed_worker_is_an_error_and_the_next_fit_starts_another():
    fitted()
    [now] = worker._idle
    stopped = threading.Timer(1, lambda: os.kill(now.child.pid, signal.SIGKILL))
    stopped.start()
    with pytest.raises(localcal.FitError, match="ended by signal 9"):
        eval(LONG).fit(LOGITS, Y, features=FEATURES)
    assert fitted() and worker._idle != [now]


@posix
def test_after_ctrl_c_the_next_fit_is_as_ever():
    expected, handler = fitted(), signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(1, lambda: signal.raise_signal(signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            eval(LONG).fit(LOGITS, Y, features=FEATURES)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert fitted() == expected


def test_a_request_knows_nothing_of_the_one_before():
    with pytest.raises(localcal.InputError, match="nosuch"):
        localcal.Calibrator("nosuch").fit(LOGITS, Y)
    first = localcal.Calibrator("vq", codebook__slots=4, optim__epochs=2).fit(LOGITS, Y, features=FEATURES)
    fitted()
    again = localcal.Calibrator("vq", codebook__slots=4, optim__epochs=2).fit(LOGITS, Y, features=FEATURES)
    assert first.run_["model.safetensors"] == again.run_["model.safetensors"] and first.result_ == again.result_
