# Seen without types, as by mypy: where ray is not installed, pyright would take localcal/integrations/ray.py for it.
import typing

def __getattr__(name: str) -> typing.Any: ...
