"""A network that calibra export writes, in operations of torch."""
from __future__ import annotations

import collections.abc
import typing

import onnx
import torch
from onnx import numpy_helper
from torch import nn

from localcal.command import InputError

Value = typing.Any  # torch.Tensor, or the shape of one as a list of whole numbers


class Graph(nn.Module):  # type: ignore[misc]  # seen without torch's types
    """The network of a file's bytes: forward(logits=…, features=…) gives probabilities (B×C).

    inputs are the names of what it takes. Its constants keep their types (float64) when a module
    around it is made another, and follow it to a device.
    """

    def __init__(self, file: bytes) -> None:
        super().__init__()
        graph = onnx.load_from_string(file).graph
        self.inputs = [i.name for i in graph.input]
        self.steps = [(node.op_type, list(node.input), list(node.output), {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}) for node in graph.node]
        if unknown := {op for op, *_ in self.steps} - set(OPERATORS):
            raise InputError(f"the network has the operator {sorted(unknown)[0]}, which this version of the package does not know; run it by ONNX Runtime")
        self.places: dict[str, int] = {}  # of constants among the buffers
        self.shapes: dict[str, list[int]] = {}  # constants that say axes or shapes
        for k, held in enumerate(graph.initializer):
            array = numpy_helper.to_array(held).copy()
            self.places[held.name] = k
            self.register_buffer(f"constant_{k}", torch.from_numpy(array))
            if array.dtype.kind == "i" and array.ndim <= 1:
                self.shapes[held.name] = array.reshape(-1).tolist()
        for k, (operator, *_, attributes) in enumerate(self.steps):
            if operator == "TreeEnsembleRegressor":
                tables = _trees(attributes)
                attributes["places"] = {name: f"trees_{k}_{name}" for name in tables}
                for name, values in tables.items():
                    self.register_buffer(attributes["places"][name], values)

    def _apply(self, fn: typing.Any, *args: typing.Any, **more: typing.Any) -> typing.Any:
        return super()._apply(lambda tensor: tensor.to(fn(tensor).device), *args, **more)

    def forward(self, **given: Value) -> Value:
        values = {name: getattr(self, f"constant_{k}") for name, k in self.places.items()}
        for name in self.inputs:
            values[name] = given[name]
        for operator, inputs, results, attributes in self.steps:
            said = OPERATORS[operator](Step(self, inputs, attributes, [values.get(name) for name in inputs]))
            values.update(zip(results, said if isinstance(said, tuple) else (said,)))
        return values["probabilities"]


class Step:
    """One operator with the values of its inputs."""

    def __init__(self, graph: Graph, names: list[str], attributes: dict[str, typing.Any], values: list[Value]) -> None:
        self.graph, self.names, self.attributes, self.values = graph, names, attributes, values

    def numbers(self, k: int) -> list[int]:
        """The input k as whole numbers that are known before the network runs, or a shape."""
        return typing.cast("list[int]", self.values[k] if isinstance(self.values[k], list) else self.graph.shapes[self.names[k]])

    @property
    def axis(self) -> int:
        return int(self.attributes["axis"])

    @property
    def kept(self) -> bool:
        """Whether a reduced axis is kept, of length 1."""
        return bool(self.attributes.get("keepdims", 1))


TYPES = {1: torch.float32, 7: torch.int64, 11: torch.float64}  # as TensorProto numbers them


def _by(function: collections.abc.Callable[..., Value]) -> collections.abc.Callable[[Step], Value]:
    """An operator that is this function of its inputs."""
    return lambda s: function(*s.values)


def _concat(s: Step) -> Value:
    if any(isinstance(value, list) for value in s.values):
        return [number for k in range(len(s.values)) for number in s.numbers(k)]
    return torch.cat(s.values, s.axis)


def _slice(s: Step) -> Value:
    starts, ends = s.numbers(1), s.numbers(2)
    if isinstance(s.values[0], list):
        return s.values[0][starts[0] : ends[0]]
    value, axes = s.values[0], s.numbers(3) if len(s.values) > 3 else range(len(starts))
    for axis, start, end in zip(axes, starts, ends):
        value = value[(slice(None),) * axis + (slice(start, end),)]
    return value


def _gather(s: Step) -> Value:
    value, index = s.values[0], s.values[1].long()
    index = torch.where(index < 0, index + value.shape[s.axis], index)
    shape = value.shape[: s.axis] + index.shape + value.shape[s.axis + 1 :]
    return value.index_select(s.axis, index.reshape(-1)).reshape(shape)


def _constant(s: Step) -> Value:
    held = torch.from_numpy(numpy_helper.to_array(s.attributes["value"]).copy())
    device = next(s.graph.buffers()).device
    return torch.full(s.numbers(0), held.item(), dtype=held.dtype, device=device)


def _product(s: Step) -> Value:
    value = s.values[0]
    for axis in sorted(s.attributes["axes"], reverse=True):
        value = value.prod(axis, keepdim=s.kept)
    return value


def _reshape(s: Step) -> Value:
    value = s.values[0]
    return value.reshape([n or value.shape[k] for k, n in enumerate(s.numbers(1))])  # 0 keeps an axis


def _trees(attributes: dict[str, typing.Any]) -> dict[str, Value]:
    """All nodes of all trees, a leaf its own child, and what leaves add to the classes, a row for leaves that add the same.

    Adds to the attributes the depth of the deepest tree.
    """
    of = {name: torch.tensor(attributes[f"nodes_{name}"]) for name in ("treeids", "nodeids", "featureids", "truenodeids", "falsenodeids")}
    roots = torch.nonzero(of["nodeids"] == 0).flatten()
    leaf = torch.tensor([mode == b"LEAF" for mode in attributes["nodes_modes"]])
    left, right = (torch.where(leaf, torch.arange(len(leaf)), roots[of["treeids"]] + of[f"{side}nodeids"]) for side in ("true", "false"))
    at, attributes["depth"] = roots, 0
    while not bool(leaf[at].all()):
        at, attributes["depth"] = torch.unique(torch.cat((left[at], right[at]))), attributes["depth"] + 1
    votes: dict[int, list[tuple[int, float]]] = {}
    for tree, node, kind, weight in zip(*(attributes[f"target_{name}"] for name in ("treeids", "nodeids", "ids", "weights"))):
        votes.setdefault(int(roots[tree]) + node, []).append((kind, weight))
    rows = {said: k for k, said in enumerate(dict.fromkeys(map(tuple, votes.values())))}
    table, row = torch.zeros(len(rows), attributes["n_targets"], dtype=torch.float64), torch.zeros(len(leaf), dtype=torch.int64)
    for said, k in rows.items():
        for kind, weight in said:
            table[k, kind] = weight
    for node, vote in votes.items():
        row[node] = rows[tuple(vote)]
    return {"roots": roots, "column": of["featureids"], "threshold": torch.tensor(attributes["nodes_values"]), "left": left, "right": right, "row": row, "table": table}


def _votes(s: Step) -> Value:
    """The sums of what a row's leaves add (B×C): it walks down all trees side by side."""
    of = {name: getattr(s.graph, place) for name, place in s.attributes["places"].items()}
    x = s.values[0]
    at = of["roots"].expand(x.shape[0], -1)
    for _ in range(s.attributes["depth"]):
        at = torch.where(x.gather(1, of["column"][at]) <= of["threshold"][at], of["left"][at], of["right"][at])
    return of["table"][of["row"][at]].sum(1)


# What each operator of opset 17, and of opset 3 of ai.onnx.ml, that an exported network has is in torch.
OPERATORS: dict[str, collections.abc.Callable[[Step], Value]] = {
    "Add": _by(torch.add),
    "ArgMax": lambda s: s.values[0].argmax(s.axis, keepdim=s.kept),
    "Cast": lambda s: s.values[0].to(TYPES[s.attributes["to"]]),
    "Concat": _concat,
    "ConstantOfShape": _constant,
    "Div": _by(torch.div),
    "Equal": _by(torch.eq),
    "Exp": _by(torch.exp),
    "Gather": _gather,
    "GatherElements": lambda s: s.values[0].gather(s.axis, s.values[1]),
    "Greater": _by(torch.gt),
    "Identity": lambda s: s.values[0],
    "IsNaN": _by(torch.isnan),
    "Less": _by(torch.lt),
    "LessOrEqual": _by(torch.le),
    "Log": _by(torch.log),
    "LogSoftmax": lambda s: torch.log_softmax(s.values[0], s.axis),
    "MatMul": _by(torch.matmul),
    "Max": _by(torch.maximum),
    "Min": _by(torch.minimum),
    "Mul": _by(torch.mul),
    "Neg": _by(torch.neg),
    "ReduceMax": lambda s: s.values[0].amax(list(s.attributes["axes"]), keepdim=s.kept),
    "ReduceProd": _product,
    "ReduceSum": lambda s: s.values[0].sum(s.numbers(1), keepdim=s.kept),
    "Relu": _by(torch.relu),
    "Reshape": _reshape,
    "ScatterElements": lambda s: s.values[0].scatter_add(s.axis, s.values[1].long(), s.values[2]),
    "Shape": lambda s: list(s.values[0].shape),
    "Sigmoid": _by(torch.sigmoid),
    "Slice": _slice,
    "Softmax": lambda s: torch.softmax(s.values[0], s.axis),
    "Sqrt": _by(torch.sqrt),
    "Sub": _by(torch.sub),
    "TopK": lambda s: tuple(s.values[0].topk(s.numbers(1)[0], s.axis, largest=bool(s.attributes["largest"]))),
    "TreeEnsembleRegressor": _votes,
    "Transpose": lambda s: s.values[0].permute(s.attributes["perm"]),
    "Where": _by(torch.where),
}
