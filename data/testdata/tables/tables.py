"""Writes the table files that tablefile_test.go reads.

    pip install pyarrow pandas
    python tables.py

All hold the same rows: row i has set cal, cal, cal, test, test; features i + j/8 (3
numbers), logits (i·c mod 5) − 1 (3 numbers) and label i mod 3.
"""
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

features = np.add.outer(np.arange(5), np.arange(3) / 8)
logits = np.outer(np.arange(5), np.arange(3)) % 5 - 1.0
label = np.arange(5) % 3
sets = ["cal"] * 3 + ["test"] * 2


def table(features_type, logits_type, label_type):
    return pa.table({
        "set": sets,
        "features": pa.array(features.astype(features_type.value_type.to_pandas_dtype()).tolist() if features_type.value_type != pa.float16()
                             else [list(row) for row in features.astype(np.float16)], features_type),
        "logits": pa.array(logits.tolist(), logits_type),
        "label": pa.array(label, label_type),
    })


wide = table(pa.list_(pa.float64()), pa.list_(pa.float32()), pa.int64())
fixed = table(pa.list_(pa.float32(), 3), pa.large_list(pa.float64()), pa.uint8())
half = table(pa.list_(pa.float16()), pa.list_(pa.float64(), 3), pa.int16())
pq.write_table(wide, "pyarrow.parquet", row_group_size=2)
pq.write_table(fixed, "pyarrow-zstd.parquet", compression="zstd", data_page_version="2.0")
pq.write_table(half, "pyarrow-half.parquet", compression="none", use_dictionary=False)
feather.write_feather(wide, "pyarrow.feather", compression="lz4", chunksize=2)
feather.write_feather(fixed, "pyarrow-zstd.feather", compression="zstd")
with pa.OSFile("pyarrow-half.arrow", "wb") as out, pa.ipc.new_file(out, half.schema) as writer:
    writer.write_table(half)

frame = pd.DataFrame({"set": pd.Categorical(sets), "label": label, "weight": 1.5, "note": "a row"})
for j in range(3):
    frame[f"features_{j}"], frame[f"logits_{j}"] = features[:, j], logits[:, j]
frame.to_parquet("pandas.parquet")
frame.to_feather("pandas.feather")
lists = pd.DataFrame({"set": sets, "features": list(features), "logits": list(logits), "label": label}, index=list("abcde"))
lists.to_parquet("pandas-lists.parquet")

truth = pa.table({"label": [True, False, True], "logits_0": [1.0, 2.0, 0.0], "logits_1": [2.0, 1.0, 3.0]})
pq.write_table(truth, "truth.parquet")
feather.write_feather(truth, "truth.feather", compression="uncompressed")

# labels of categories: with an order, of which huge has no row, and without; with two orders there is none
def categories(names, indices, ordered):
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), names, ordered=ordered)
def labelled(label):
    return pa.table({"label": label, **{f"logits_{j}": [1.0, 2.0, 0.5, float(j)] for j in range(3)}})
ordered = labelled(categories(["small", "large", "huge"], [1, 0, 0, 1], True))
for name, t in {"ordered": ordered, "unordered": labelled(categories(["small", "large", "huge"], [1, 0, 2, 1], False)),
                "integers": labelled(categories([2, 0, 1], [1, 0, 2, 1], False))}.items():
    pq.write_table(t, f"{name}.parquet", row_group_size=3, compression="none")
    with pa.OSFile(f"{name}.arrow", "wb") as out, pa.ipc.new_file(out, t.schema) as writer:
        writer.write_table(t)
pq.write_table(ordered, "ordered-plain.parquet", use_dictionary=False, compression="none")
