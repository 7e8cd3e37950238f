# Seen without types, as by mypy: where torch is not installed, pyright would take localcal/torch.py for it.
import typing

def __getattr__(name: str) -> typing.Any: ...
