"""An ensemble says the mean of what its members say, each taken out of the model file as a model of its own."""
import json
import struct
import subprocess

import numpy as np
import pytest

import localcal
from localcal import command

MEMBERS = 3


def rows(seed, n=300, classes=4):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    features = rng.normal(size=(n, 8))
    features[:, :classes] += 2 * np.eye(classes)[y]
    return 3 * features[:, :classes] + rng.normal(size=(n, classes)), y, features


def run(*args):
    subprocess.run([command.binary(), *map(str, args)], check=True, capture_output=True)


def parted(path):
    """The header of a safetensors file, and its tensors as (description, bytes) by name."""
    text = path.read_bytes()
    end = 8 + struct.unpack("<Q", text[:8])[0]
    header = json.loads(text[8:end])
    meta = header.pop("__metadata__")
    return meta, {name: (about, text[end + about["data_offsets"][0] : end + about["data_offsets"][1]]) for name, about in header.items()}


def member(ensemble, k, path):
    """Write member k of an ensemble's model file as a model file."""
    meta, tensors = parted(ensemble)
    meta |= {"config": json.dumps(json.loads(meta["config"])["members"][k]), "settings": json.dumps({"ensemble.members": "1"})}
    prefix, header, body = f"member{k + 1}/", {"__metadata__": meta}, b""
    for name, (about, values) in sorted(tensors.items()):
        if name.startswith("member") and not name.startswith(prefix):
            continue
        header[name.removeprefix(prefix)] = about | {"data_offsets": [len(body), len(body) + len(values)]}
        body += values
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.parent.mkdir()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


@pytest.mark.parametrize("method", ["vq", "pool", "corrected"])
def test_mean_of_the_members(tmp_path, method):
    cal, test = rows(0), rows(1)
    features = tmp_path / "f.npz"
    np.savez(features, cal_logits=cal[0], cal_labels=cal[1], cal_features=cal[2], test_logits=test[0], test_labels=test[1], test_features=test[2])
    settings = ["--set", "codebook.slots=4", "--set", "codebook.codewords=8"] if method == "vq" else []
    run("fit", "--in", features, "--method", method, "--set", f"ensemble.members={MEMBERS}", *settings, "--out", tmp_path / "run")
    ensemble = tmp_path / "run" / "model.safetensors"
    mean = 0
    for k in range(MEMBERS):
        model, said = tmp_path / f"member{k}" / "model.safetensors", tmp_path / f"p{k}.npz"
        member(ensemble, k, model)
        run("apply", "--model", model, "--in", features, "--out", said)
        mean = mean + np.log(np.load(said)["probs"]) / MEMBERS
    mean = np.exp(mean)
    mean /= mean.sum(1, keepdims=True)
    run("apply", "--model", ensemble, "--in", features, "--out", tmp_path / "p.npz")
    assert np.abs(np.load(tmp_path / "p.npz")["probs"] - mean).max() < 1e-12


def test_what_draws_nothing_is_no_ensemble():
    cal = rows(0)
    with pytest.raises(ValueError, match="ts draws nothing"):
        localcal.Calibrator("ts", ensemble__members=2).fit(cal[0], cal[1])
