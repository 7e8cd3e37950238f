"""What methods there are, and their settings, as the command lists them."""
from __future__ import annotations

import dataclasses
import json
import os
import typing

from localcal.worker import working


@dataclasses.dataclass(frozen=True)
class Method:
    """A method that Calibrator takes.

    Parameters
    ----------
    name : str
    group : str
        "recommended", "paper", "baseline", or another that `calibra methods --all` has.
    needs : tuple of str
        Of "logits" and "features".
    what : str
        What it is, in a sentence.

    Examples
    --------
    >>> import localcal
    >>> [method.needs for method in localcal.methods() if method.name == "ts"]
    [('logits',)]
    """

    name: str
    group: str
    needs: tuple[str, ...]
    what: str


@dataclasses.dataclass(frozen=True)
class Setting:
    """A setting of a method.

    Parameters
    ----------
    keyword : str
        As Calibrator takes it: "optim__rate".
    default : object
        A value, or words that say how it is found.
    type : str
        The values that it may have, in words.
    what : str
        What it is, in a sentence.
    paper : str
        The paper's value; "" where the paper has none.

    Examples
    --------
    >>> import localcal
    >>> [setting.default for setting in localcal.settings("vq") if setting.keyword == "codebook__codewords"]
    [64]
    """

    keyword: str
    default: typing.Any
    type: str
    what: str
    paper: str


def methods(*, program: str | os.PathLike[str] | None = None) -> list[Method]:
    """All methods, the recommended one first.

    Parameters
    ----------
    program : path or None
        As for Calibrator.

    Returns
    -------
    list of Method

    Examples
    --------
    >>> import localcal
    >>> localcal.methods()[0].name
    'pool'
    """
    with working(program=program) as (worker, _):
        listed = json.loads(worker.ask("methods", "--all", "--json"))
    return [Method(said["method"], said["group"], tuple(said["needs"]), said["what"]) for said in listed]


def settings(method: str, *, program: str | os.PathLike[str] | None = None) -> list[Setting]:
    """The settings of a method.

    Parameters
    ----------
    method : str
        Its name.
    program : path or None
        As for Calibrator.

    Returns
    -------
    list of Setting

    Examples
    --------
    >>> import localcal
    >>> localcal.settings("ts")[1].keyword
    'temperature__prior'
    """
    with working(program=program) as (worker, _):
        listed = json.loads(worker.ask("methods", method, "--json"))
    return [Setting(said.pop("key").replace(".", "__"), **said) for said in listed]
