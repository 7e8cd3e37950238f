"""Writes tables as the reference writers do, and the numbers that must be read from them.

    python write.py DIR

needs pyarrow and numpy. DIR/bases.jsonl has a line for each set of columns: the numbers of
features and logits, the labels (numbers or names) and the sets. DIR/files.jsonl has a line
for each file: its name, its base and, where it must be refused, what the refusal says.
groups-W-N.npz have N groups, names of W characters that end in row mod 7. Files are drawn
from a fixed seed.
"""
import itertools
import json
import os
import random
import sys

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

out = sys.argv[1]
rng, draw = np.random.default_rng(1), random.Random(1)
files, bases = open(os.path.join(out, "files.jsonl"), "w"), open(os.path.join(out, "bases.jsonl"), "w")
ROWS, COLUMNS, CLASSES = 60, 3, 3
count = 0

ranges = {
    "int8": (-128, 127), "int16": (-2**15, 2**15 - 1), "int32": (-2**31, 2**31 - 1), "int64": (-2**53, 2**53),
    "uint8": (0, 255), "uint16": (0, 2**16 - 1), "uint32": (0, 2**32 - 1), "uint64": (0, 2**64 - 1),
}


def numbers(kind, shape):
    """Random numbers of a type, its least and largest among them."""
    if kind == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if kind.startswith("float"):
        v = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4, shape)
        v.flat[:4] = [0, -0.0, np.finfo(kind).max, np.finfo(kind).smallest_subnormal]
        return v.astype(kind)
    low, high = ranges[kind]
    v = rng.integers(low, high, shape, dtype=kind, endpoint=True)
    v.flat[:2] = [low, high]
    return v


def base(kind, repeated):
    """A set of columns; repeated ones have few values, in runs."""
    features = numbers(kind, (ROWS, COLUMNS))
    if repeated:
        features = np.repeat(features[:ROWS // 20], 20, axis=0)
    logits = rng.normal(size=(ROWS, CLASSES))
    label = rng.integers(0, CLASSES, ROWS)
    label[:CLASSES] = range(CLASSES)
    sets = [("cal", "val", "test")[k] for k in np.sort(np.arange(ROWS) % 3)] if repeated else [("cal", "test", "val")[k] for k in np.arange(ROWS) % 3]
    global count
    count += 1
    names = ["ant", "bee", "wäsp"]
    bases.write(json.dumps({"features": features.astype(float).tolist(), "logits": logits.tolist(), "labels": label.tolist(),
                            "names": names, "sets": sets}) + "\n")
    return {"features": features, "logits": logits, "label": label, "names": [names[k] for k in label], "sets": sets, "id": count - 1}


def written(name, b, text=False, refused=""):
    files.write(json.dumps({"file": name, "base": b["id"], "text": text, "refused": refused}) + "\n")


def matrix(name, values, layout, nullable):
    """Columns of a matrix: of numbers, or of lists of one of three kinds."""
    kind = pa.from_numpy_dtype(values.dtype)
    element = pa.field("element", kind, nullable)
    if layout == "columns":
        return [(pa.field(f"{name}_{j}", kind, nullable), pa.array(np.ascontiguousarray(values[:, j]))) for j in range(values.shape[1])]
    flat = pa.array(values.reshape(-1))
    offsets = np.arange(values.shape[0] + 1) * values.shape[1]
    if layout == "fixed":
        t = pa.list_(element, values.shape[1])
        return [(pa.field(name, t, nullable), pa.FixedSizeListArray.from_arrays(flat, type=t))]
    if layout == "large":
        t = pa.large_list(element)
        return [(pa.field(name, t, nullable), pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), flat, type=t))]
    t = pa.list_(element)
    return [(pa.field(name, t, nullable), pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat, type=t))]


def table(b, layout, nullable, text, hole=None):
    columns = matrix("features", b["features"], layout, nullable) + matrix("logits", b["logits"], draw.choice(["columns", "list", "fixed"]), nullable)
    if text:
        names = pa.array(b["names"], draw.choice([pa.string(), pa.large_string()]))
        columns.append((pa.field("label", names.type, nullable), names))
    else:
        kind = draw.choice([pa.int64(), pa.int8(), pa.uint32(), pa.uint64()])
        columns.append((pa.field("label", kind, nullable), pa.array(b["label"], kind)))
    columns.append((pa.field("set", pa.string(), nullable), pa.array(b["sets"])))
    columns.append((pa.field("note", pa.string()), pa.array([None, "x"] * (ROWS // 2))))
    columns.append((pa.field("day", pa.date32()), pa.array([None, 1] * (ROWS // 2), pa.date32())))
    if hole is not None:
        i = next(i for i, (f, _) in enumerate(columns) if f.name.startswith(hole))
        f, a = columns[i]
        columns[i] = (f, pa.concat_arrays([a.slice(0, 7), pa.nulls(1, a.type), a.slice(8)]))
    draw.shuffle(columns)
    return pa.Table.from_arrays([a for _, a in columns], schema=pa.schema([f for f, _ in columns]))


def parquet(name, t, kind, codec, version, encoding, checksum=False):
    numeric = [f.name for f in t.schema if f.name.startswith("features")]
    leaves = [n if "list" not in str(t.schema.field(n).type) else f"{n}.list.element" for n in numeric]
    text = {"label": "DELTA_BYTE_ARRAY", "set": "DELTA_LENGTH_BYTE_ARRAY"}
    options = {"use_dictionary": True}
    if encoding == "dictionary":
        pass
    elif encoding == "plain":
        options["use_dictionary"] = False
    elif encoding == "split":
        options = {"use_dictionary": False, "column_encoding": {n: "BYTE_STREAM_SPLIT" for n in leaves}}
    elif encoding == "delta":
        options = {"use_dictionary": False, "column_encoding": {n: "DELTA_BINARY_PACKED" for n in leaves}}
        options["column_encoding"].update({n: e for n, e in text.items() if pa.types.is_string(t.schema.field(n).type)})
    pq.write_table(t, os.path.join(out, name), compression=codec, data_page_version=version, write_page_checksum=checksum,
                   data_page_size=draw.choice([64, 200, 1 << 20]), write_batch_size=draw.choice([5, 1024]),
                   row_group_size=draw.choice([7, 25, ROWS]), **options)


types = ["float16", "float32", "float64", "bool", *ranges]
codecs = ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]
layouts = ["columns", "list", "large", "fixed"]
pairs = {kind: [base(kind, False), base(kind, True)] for kind in types}
n = 0
for kind, codec, layout, version in itertools.product(types, codecs, layouts, ["1.0", "2.0"]):
    encodings = ["dictionary", "plain"] + (["split"] if kind != "bool" and kind not in ("int8", "int16", "uint8", "uint16") else [])
    encodings += ["delta"] if kind in ("int32", "int64", "uint32", "uint64", "int8", "uint16") else []
    for encoding in encodings:
        b, text = draw.choice(pairs[kind]), draw.random() < 0.3
        name = f"{n:05}-{kind}-{codec}-{layout}-{version[0]}-{encoding}.parquet"
        parquet(name, table(b, layout, draw.random() < 0.7, text), kind, codec, version, encoding, draw.random() < 0.2)
        written(name, b, text)
        n += 1
for kind, codec, layout, chunk, container in itertools.product(types, ["uncompressed", "lz4", "zstd"], layouts, [9, ROWS], ["feather", "file", "stream"]):
    b, text = draw.choice(pairs[kind]), draw.random() < 0.3
    t = table(b, layout, draw.random() < 0.7, text)
    if draw.random() < 0.3:
        i = t.schema.get_field_index("set")
        t = t.set_column(i, "set", t.column(i).dictionary_encode())
    name = f"{n:05}-{kind}-{codec}-{layout}-{container}.arrow"
    if container == "feather":
        feather.write_feather(t, os.path.join(out, name), compression=codec, chunksize=chunk)
    else:
        options = pa.ipc.IpcWriteOptions(compression=None if codec == "uncompressed" else codec)
        new = pa.ipc.new_file if container == "file" else pa.ipc.new_stream
        with new(os.path.join(out, name), t.schema, options=options) as w:
            w.write_table(t, max_chunksize=chunk)
    written(name, b, text, "is an Arrow stream" if container == "stream" else "")
    n += 1
for kind, layout, hole in itertools.product(["float32", "int16"], layouts, ["features", "logits", "label", "set"]):
    b = pairs[kind][0]
    t = table(b, layout, True, False, hole)
    says = "column set has no value at row" if hole == "set" else "row 7"
    name = f"{n:05}-{kind}-{layout}-no-{hole}.parquet"
    parquet(name, t, kind, "snappy", draw.choice(["1.0", "2.0"]), "dictionary")
    written(name, b, False, says)
    feather.write_feather(t, os.path.join(out, name + ".feather"))
    written(name + ".feather", b, False, says)
    n += 2
for kind, order, swapped, packed in itertools.product(types, "CF", [False, True], [False, True]):
    for b in pairs[kind]:
        text = draw.random() < 0.5
        arrays = {}
        for part in ("cal", "val", "test"):
            rows = np.array([s == part for s in b["sets"]])
            x = np.array(b["features"][rows], order=order)
            arrays[part + "_features"] = x.astype(x.dtype.newbyteorder(">")) if swapped else x
            arrays[part + "_logits"] = b["logits"][rows]
            names = np.array(b["names"])[rows]
            arrays[part + "_labels"] = names if text else b["label"][rows]
        name = f"{n:05}-{kind}-{order}-{swapped}.npz"
        (np.savez_compressed if packed else np.savez)(os.path.join(out, name), **arrays)
        written(name, b, text)
        n += 1
for width, rows in itertools.product([1, 3, 7, 45, 65], [5, 900, 6000]):
    groups = np.array([f"{k % 7:0{width}}" for k in range(rows)], f"<U{width}")
    np.savez(os.path.join(out, f"groups-{width}-{rows}.npz"), groups=groups, bytes=groups.astype(f"S{width}"))
