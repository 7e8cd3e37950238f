# Seen without types, as by mypy: where onnx is not installed, pyright would take localcal/onnx.py for it.
import typing

def __getattr__(name: str) -> typing.Any: ...
