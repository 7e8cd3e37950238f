"""Reads a PyTorch model's outputs for a calibrator, and joins the model and its calibrator in one module.

    import localcal, localcal.torch

    calibrator = localcal.Calibrator("pool").fit(*localcal.torch.outputs(model, cal_loader, layer="avgpool"))
    calibrated = localcal.torch.Calibrated(model, calibrator, layer="avgpool")
    calibrated(x)                                # log-probabilities, B×C

    localcal.torch.write("features.npz", model, layer="avgpool", cal=cal_loader, test=test_loader)    # for the command
"""
from __future__ import annotations

import collections.abc
import contextlib
import os
import pathlib
import typing

import numpy as np

from localcal.calibrator import Calibrator
from localcal.command import InputError, lacking, write as write_arrays
from localcal.tables import Array

try:
    import torch
    from torch import nn

    from localcal.onnx import Graph
except ModuleNotFoundError as error:
    raise lacking("localcal.torch", error) from None

__all__ = ["Calibrated", "Outputs", "outputs", "write"]

Tensor = typing.Any  # torch.Tensor


class Outputs(typing.NamedTuple):
    """A model's outputs for N rows: logits, y and features, in the order of Calibrator.fit.

    Parameters
    ----------
    logits : array of N×C
    y : array of N, or None
        None if the loader has no labels.
    features : array of N×M, or None
        None without a layer.

    Examples
    --------
    >>> import numpy as np, localcal, localcal.torch
    >>> y = np.arange(300) % 3
    >>> said = localcal.torch.Outputs(4 * np.eye(3)[(y + (np.arange(300) % 5 == 0)) % 3], y, None)
    >>> localcal.Calibrator("ts").fit(*said).classes_
    array([0, 1, 2])
    """

    logits: Array  # N×C
    y: Array | None  # N
    features: Array | None  # N×M; None without a layer


def outputs(model: typing.Any, loader: collections.abc.Iterable[typing.Any], layer: typing.Any = "avgpool", *, device: typing.Any = None, autocast: typing.Any = None) -> Outputs:
    """Logits, labels and features of all rows of a loader.

    Parameters
    ----------
    model : nn.Module
        It returns logits (B×C), an object with the attribute logits, or a tuple that begins with them.
        It is run in evaluation mode, and left in the mode it was in.
    loader : iterable of batches
        (x, y), (x, …, y), x alone, or a dict whose "labels" are y and whose other entries are the model's arguments.
    layer : str, nn.Module or None
        The layer whose outputs are the features, flattened to M numbers for each row; None for no features.
    device : torch.device, str or None
        Where the batches go; None is where the model's parameters are.
    autocast : torch.dtype or None
        Runs the model in mixed precision of this type.

    Returns
    -------
    Outputs

    Examples
    --------
    >>> import torch, localcal.torch
    >>> rows = torch.utils.data.TensorDataset(torch.randn(10, 3), torch.arange(10) % 2)
    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2))
    >>> logits, y, features = localcal.torch.outputs(model, torch.utils.data.DataLoader(rows, batch_size=4), layer="1")
    >>> logits.shape, y.shape, features.shape
    ((10, 2), (10,), (10, 5))
    """
    device = _device(model) if device is None else torch.device(device)
    kept: dict[str, list[Tensor]] = {"logits": [], "y": [], "features": []}
    mixed = torch.autocast(device.type, dtype=autocast) if autocast is not None else contextlib.nullcontext()
    training = model.training
    model.eval()
    try:
        with torch.inference_mode(), mixed:
            for batch in _bar(loader):
                inputs, named, y = _taken(batch, device)
                with listening(model, layer) as heard:
                    logits = _logits(model(*inputs, **named))
                kept["logits"].append(logits.float().cpu())
                if layer is not None:
                    kept["features"].append(flat(heard, layer).float().cpu())
                if y is not None:
                    kept["y"].append(torch.as_tensor(y).cpu())
    finally:
        model.train(training)
    if not kept["logits"]:
        raise InputError("the loader has no batches; hand over one that has rows")
    whole = {name: torch.cat(parts).numpy() if parts else None for name, parts in kept.items()}
    return Outputs(typing.cast(Array, whole["logits"]), whole["y"], whole["features"])


def write(path: str | os.PathLike[str], model: typing.Any, layer: typing.Any = "avgpool", *, device: typing.Any = None, autocast: typing.Any = None, **loaders: collections.abc.Iterable[typing.Any]) -> None:
    """Writes a features file, as `calibra fit --in` takes it.

    Parameters
    ----------
    path : path
    model : nn.Module
        As for outputs.
    layer : str, nn.Module or None
    device : torch.device, str or None
    autocast : torch.dtype or None
    **loaders : iterables of batches
        cal=loader, test=loader and, if there are, val=loader.

    Examples
    --------
    >>> import tempfile, numpy as np, torch, localcal.torch
    >>> rows = torch.utils.data.TensorDataset(torch.randn(10, 3), torch.arange(10) % 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     localcal.torch.write(f"{folder}/f.npz", torch.nn.Linear(3, 2), None, cal=torch.utils.data.DataLoader(rows, batch_size=4))
    ...     sorted(np.load(f"{folder}/f.npz").files)
    ['cal_labels', 'cal_logits']
    """
    if unknown := set(loaders) - {"cal", "val", "test"}:
        raise InputError(f"{sorted(unknown)[0]} is no set of rows; a features file has cal, val and test")
    arrays = {}
    for part, loader in loaders.items():
        said = outputs(model, loader, layer, device=device, autocast=autocast)
        arrays.update({f"{part}_logits": said.logits, f"{part}_labels": said.y, f"{part}_features": said.features})
    write_arrays(pathlib.Path(path), **arrays)


class Calibrated(nn.Module):  # type: ignore[misc]  # seen without torch's types
    """A model and a calibrator fitted to its outputs: what it returns are calibrated log-probabilities (B×C).

    Parameters
    ----------
    model : nn.Module that returns logits, as `outputs` takes it
    calibrator : Calibrator
        Fitted or loaded. It becomes operations of torch, in float64 wherever the module's other numbers
        go; its answers agree with calibra apply within 1e-6, or the model's own precision. It can be
        traced, exported, and differentiated by its input.
    layer : str, nn.Module or None
        The layer whose outputs were the calibrator's features; None if its method needs none.

    Examples
    --------
    >>> import torch, localcal, localcal.torch
    >>> x, y = torch.randn(200, 3), torch.arange(200) % 2
    >>> model = torch.nn.Linear(3, 2)
    >>> calibrator = localcal.Calibrator("ts").fit(model(x).detach(), y)
    >>> localcal.torch.Calibrated(model, calibrator)(x[:4]).exp().sum(1).round(decimals=6).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    def __init__(self, model: typing.Any, calibrator: Calibrator, layer: typing.Any = None) -> None:
        super().__init__()
        network = calibrator._fitted()._network()
        if network is None:
            raise InputError("the calibrator's method has no network, which torch would run; fit another, such as ts or pool")
        self.model, self.layer, self.scores, self.floor = model, layer, network.scores, network.floor
        self.calibrator = Graph(network.file)
        if "features" in self.calibrator.inputs and layer is None:
            raise InputError('the calibrator needs features; name the layer whose outputs they are, such as layer="avgpool"')
        if layer is not None:
            _layer(model, layer)

    def forward(self, *inputs: Tensor, **named: Tensor) -> Tensor:
        """The calibrated log-probabilities of rows.

        Parameters
        ----------
        *inputs : tensors of B rows
            As the model takes them.
        **named : tensors of B rows
            Likewise.

        Returns
        -------
        tensor of B×C

        Examples
        --------
        >>> import torch, localcal, localcal.torch
        >>> x, y = torch.randn(200, 3), torch.arange(200) % 2
        >>> model = torch.nn.Linear(3, 2)
        >>> calibrator = localcal.Calibrator("ts").fit(model(x).detach(), y)
        >>> localcal.torch.Calibrated(model, calibrator)(x[:4]).shape
        torch.Size([4, 2])
        """
        with listening(self.model, self.layer) as heard:
            logits = _logits(self.model(*inputs, **named))
        with torch.autocast(logits.device.type, enabled=False):
            given = {"logits": self._scores(logits.double())}
            if "features" in self.calibrator.inputs:
                given["features"] = flat(heard, self.layer).double()
            p = self.calibrator(**given)
        return p.log().to(logits.dtype)

    def _scores(self, values: Tensor) -> Tensor:
        """Logits, or of a model that returns probabilities their logarithms, as Network reads them."""
        if self.scores not in ("probabilities", "one-vs-rest"):
            return values
        p = values.clamp(min=self.floor)
        return (p / p.sum(1, keepdim=True)).log()


@contextlib.contextmanager
def listening(model: typing.Any, layer: typing.Any) -> collections.abc.Iterator[list[Tensor]]:
    """What a layer of the model returns meanwhile, a tensor for each time it is called."""
    heard: list[Tensor] = []
    if layer is None:
        yield heard
        return
    hook = _layer(model, layer).register_forward_hook(lambda module, inputs, output: heard.append(_first(output)))
    try:
        yield heard
    finally:
        hook.remove()


def flat(heard: list[Tensor], layer: typing.Any) -> Tensor:
    """The outputs of a layer in one run of its model as B×M."""
    if len(heard) != 1:
        raise InputError(f"the layer {layer!r} is called {len(heard)} times for a batch; name one that is called once")
    return heard[0].flatten(1)


def _layer(model: typing.Any, layer: typing.Any) -> typing.Any:
    if not isinstance(layer, str):
        return layer
    layers = dict(model.named_modules())
    if layer not in layers or not layer:
        names = [name for name in layers if name]
        raise InputError(f"the model has no layer {layer!r}; its last are {', '.join(names[-8:])}")
    return layers[layer]


def _logits(said: typing.Any) -> Tensor:
    logits = _first(said.logits if hasattr(said, "logits") else said)
    if logits.ndim != 2:
        raise InputError(f"the model returns {tuple(logits.shape)}; it must return logits, a row for each example and a column for each class")
    return logits


def _first(said: typing.Any) -> Tensor:
    return said[0] if isinstance(said, (tuple, list)) else said


def _device(model: typing.Any) -> typing.Any:
    for held in (model.parameters(), model.buffers()):
        for tensor in held:
            return tensor.device
    return torch.device("cpu")


def _taken(batch: typing.Any, device: typing.Any) -> tuple[list[Tensor], dict[str, Tensor], Tensor]:
    """A batch as the model's arguments, on the device, and labels."""
    if hasattr(batch, "keys"):
        named = {name: batch[name] for name in batch.keys()}
        y = named.pop("labels", None)
        return [], {name: _moved(value, device) for name, value in named.items()}, y
    if not isinstance(batch, (tuple, list)):
        return [_moved(batch, device)], {}, None
    *inputs, y = batch if len(batch) > 1 else (*batch, None)
    return [_moved(value, device) for value in inputs], {}, y


def _moved(value: typing.Any, device: typing.Any) -> typing.Any:
    return value.to(device, non_blocking=True) if hasattr(value, "to") else value


def _bar(loader: collections.abc.Iterable[typing.Any]) -> collections.abc.Iterable[typing.Any]:
    """The loader with a bar after two seconds, where tqdm is there."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return loader
    return typing.cast("collections.abc.Iterable[typing.Any]", tqdm(loader, desc="outputs of the model", delay=2, leave=False))
