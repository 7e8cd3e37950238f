"""A fitted calibrator as a network that ONNX Runtime runs in this process."""
from __future__ import annotations

import concurrent.futures
import os
import sys
import threading
import typing

import numpy as np

from localcal.tables import Array, Rows

# Numbers (features and logits) of the rows that are computed at a time, and the fewest rows: their values stay in the
# processor's cache, where an operator on all rows would move each of them through memory. As many numbers as SHARED take
# longer than to start threads.
BLOCK, FEWEST, SHARED = 1 << 15, 256, 1 << 18

FEW = 5  # rows say nothing of what they are, as the command has it


class Network:
    """The network that calibra export writes of a model, in float64.

    Threads may share it. A process that was forked opens a session of its own, and so does a copy
    or what was pickled.
    """

    def __init__(self, file: bytes, scores: str, floor: float) -> None:
        self.file, self.scores, self.floor = file, scores, floor  # as the model file has them
        self._lock, self._process = threading.Lock(), 0
        self._session: typing.Any = None
        self._shapes: dict[str, list[typing.Any]] = {}

    def __getstate__(self) -> dict[str, typing.Any]:
        return {"file": self.file, "scores": self.scores, "floor": self.floor}

    def __setstate__(self, state: dict[str, typing.Any]) -> None:
        vars(self).update(vars(Network(**state)))

    def session(self) -> typing.Any:
        """The session of this process."""
        with self._lock:
            if self._process != os.getpid():
                import onnxruntime

                options = onnxruntime.SessionOptions()
                options.log_severity_level = 3
                options.intra_op_num_threads = 1  # threads take blocks of rows, which is faster than to share operators
                self._session = onnxruntime.InferenceSession(self.file, options, providers=["CPUExecutionProvider"])
                self._shapes, self._process = {i.name: i.shape for i in self._session.get_inputs()}, os.getpid()
            return self._session

    def probabilities(self, logits: Array, features: Rows) -> Array | None:
        """Calibrated probabilities (N×C) of logits (N×C), as read gives them, and features (N×M).

        None of rows that the command is to be asked about: it may refuse them, with a sentence.
        """
        session = self.session()
        inputs = {}
        for name, (_, columns) in self._shapes.items():
            values = {"logits": logits, "features": features}[name]
            if values is None or hasattr(values, "tocsr") or np.ma.is_masked(values):
                return None
            values = np.asarray(values)
            if values.dtype.kind not in "fiub" or values.shape != (len(logits), columns):
                return None
            inputs[name] = values
        rows = max(FEWEST, BLOCK // sum(values.shape[1] for values in inputs.values()))
        if len(logits) <= rows:
            p = _run(session, inputs, 0, rows)
            return None if np.isnan(p).any() else p
        p, blocks = np.empty(logits.shape), range(0, len(logits), rows)

        def compute(at: int) -> bool:
            p[at : at + rows] = some = _run(session, inputs, at, at + rows)
            return bool(np.isnan(some).any())

        if sum(values.size for values in inputs.values()) < SHARED:
            return None if any(map(compute, blocks)) else p
        with concurrent.futures.ThreadPoolExecutor(_processors()) as threads:
            return None if any(threads.map(compute, blocks)) else p

    def read(self, logits: Array, said: bool) -> Array | None:
        """Logits, or the logarithms of probabilities, as the command reads these rows; None where it may refuse them.

        Of logits that are said to be logits it is not asked.
        """
        if logits.dtype.kind not in "fiub" or len(logits) == 0:
            return None
        sums = logits.sum(axis=1, keepdims=True, dtype=np.float64)
        if self.scores not in ("probabilities", "one-vs-rest"):
            alike = len(logits) >= FEW and not said and np.ptp(sums) <= 0.4 * sums.max() and logits.min() >= 0
            return None if alike else logits
        if logits.min() < 0 or self.scores == "probabilities" and not np.all(np.abs(sums - 1) <= 1e-4):
            return None
        p = np.maximum(logits, self.floor)
        return typing.cast(Array, np.log(p) - np.log(p.sum(axis=1, keepdims=True)))


def _run(session: typing.Any, inputs: dict[str, Array], at: int, to: int) -> Array:
    """Probabilities of these rows of the inputs."""
    block = {name: np.ascontiguousarray(values[at:to], dtype=np.float64) for name, values in inputs.items()}
    return typing.cast(Array, session.run(["probabilities"], block)[0])


def _processors() -> int:
    """How many this process may run on."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
