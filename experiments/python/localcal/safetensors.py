"""Files of safetensors, as the command keeps models."""

from __future__ import annotations

import collections.abc
import json
import typing

import numpy as np

from localcal.tables import Array

TYPES = {"F64": "<f8", "F32": "<f4"}  # that the command writes


def metadata(model: bytes) -> dict[str, str]:
    """What the file says beside its tensors."""
    return typing.cast("dict[str, str]", _header(model)[0]["__metadata__"])


def tensors(model: bytes, wanted: collections.abc.Callable[[str], bool]) -> dict[str, Array]:
    """The tensors whose names are wanted, by these."""
    header, begin = _header(model)
    found: dict[str, Array] = {}
    for name, said in header.items():
        if name != "__metadata__" and wanted(name):
            start, end = said["data_offsets"]
            values = np.frombuffer(model[begin + start : begin + end], TYPES[said["dtype"]])
            found[name] = values.reshape(said["shape"])
    return found


def _header(model: bytes) -> tuple[dict[str, typing.Any], int]:
    """The names, types and places of the tensors, and where their numbers begin."""
    begin = 8 + int.from_bytes(model[:8], "little")
    return json.loads(model[8:begin]), begin
