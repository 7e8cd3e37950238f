"""The program of the benchmark's protocol, on numbers that are known."""
import argparse
import csv
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
sys.path.insert(0, str(Path(__file__).parents[2] / "results"))
import peers
import protocol


def test_p_is_that_of_scipy():
    from scipy.stats import permutation_test

    r = np.random.default_rng(1).normal(-0.3, 1, 9)
    for sided, alternative in ((2, "two-sided"), (1, "less")):
        want = permutation_test((r,), np.mean, permutation_type="samples", alternative=alternative, n_resamples=np.inf).pvalue
        assert protocol.sign_flip(r, sided) == pytest.approx(want, abs=1e-12)
    assert protocol.sign_flip([-1.0] * 9) == 2 / 512
    assert protocol.holm([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.06, 0.06])


def test_views_and_sources_count_alike():
    cells = {"a": {"pool": {("x", 1): 1.0, ("y", 1): 1.0, ("y", 2): 1.0}, "mixture": {("x", 1): np.e, ("y", 1): 1.0, ("y", 2): 1.0}, "ts": {("x", 1): 1.0, ("y", 1): np.e**-2, ("y", 2): 1.0}}}
    assert protocol.ratios(cells, "pool", "mixture")["a"] == pytest.approx(-0.5)  # x: −1, y: 0
    assert protocol.ratios(cells, "pool", "best")["a"] == pytest.approx(0.5)  # ts: x 0, y 1


def rows(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    x = rng.normal(size=(n, 4)) + np.eye(3, 4)[y] * 2
    return x, protocol.log_softmax(10 * x[:, :3]), y  # five times too sure


def test_conditions_and_fresh_rows():
    cal, test = rows(300, 1), rows(90, 2)
    few, _ = protocol.reduced(cal, "rows", 100, 1)
    assert abs(len(few[2]) - 100) <= 2 and protocol.reduced(cal, "rows", 300, 1) == (None, None)
    thin, rare = protocol.reduced(cal, "rare", 0, 1)
    assert (thin[2] == rare).sum() == 3 and len(thin[2]) == 303 - (cal[2] == rare).sum()
    repeated = tuple(np.concatenate([a, b[:10]]) for a, b in zip(test, cal))
    p = np.exp(repeated[1])
    p[90:] = np.eye(3)[repeated[2][90:]]
    said = protocol.judged(p, cal, repeated, rare)
    assert said["fresh"] == 90 and float(said["nll_fresh"]) == pytest.approx(float(said["nll"]) * 100 / 90)
    with pytest.raises(ValueError):
        protocol.judged(p * 2, cal, repeated, None)


@pytest.mark.parametrize("name", peers.PEERS)
def test_peers_say_what_can_be_said(name, monkeypatch):
    if name in ("sms", "lightgbm", "mlp", "mcgrad"):
        pytest.importorskip({"sms": "probmetrics", "lightgbm": "lightgbm", "mlp": "torch", "mcgrad": "mcgrad"}[name])
    if name == "published-vq":
        pytest.skip("the published code is elsewhere")
    cal, test = rows(300, 3), rows(200, 4)
    brier = lambda p: float(protocol.judged(p, cal, test, None)["brier"])
    assert brier(peers.PEERS[name](cal, test, 3, 1)) < brier(np.exp(test[1]))


def test_cells_go_on_and_tests_wait(tmp_path, monkeypatch):
    monkeypatch.setattr(protocol, "prepare", lambda o, how, file, seed, work: [rows(300, seed), rows(90, seed + 1)])
    monkeypatch.setattr(protocol, "predicted", lambda o, method, cal, test, seed, work: fitted.append((method, len(cal[2]))) or np.exp(protocol.log_softmax(test[1] / (1 + len(method)))))
    monkeypatch.setattr(peers, "absent", lambda names: [])
    fitted, path = [], tmp_path / "cells.csv"
    o = argparse.Namespace(cells=path, out=tmp_path / "tests.csv", seeds=[1, 2], parts=["main", "rows", "rare"], old=False, sources=["adult", "mnist"], methods=None, minutes=1e9)
    with pytest.raises(KeyboardInterrupt), monkeypatch.context() as m:
        m.setattr(protocol, "predicted", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
        protocol.cells(o)
    with pytest.raises(SystemExit, match="cells are missing"):
        protocol.tests(o)
    protocol.cells(o)
    first = len(fitted)
    protocol.cells(o)
    assert len(fitted) == first == 2 * 3 * (len(protocol.OURS) + len(peers.PEERS) + 2 * len(protocol.FEW))  # of 200 rows and a rare class; 500 are too many
    lines = list(csv.DictReader(open(path)))
    assert {line["error"] for line in lines} == {"", "too few rows"} and lines[0]["seed"] == "1" and lines[-1]["part"] == "rare"
    seeds = [line["seed"] for line in lines if line["part"] == "main"]
    assert seeds == sorted(seeds)  # whole seeds first
    protocol.tests(o)
    told = list(csv.DictReader(open(o.out)))
    assert told[0]["test"] == "primary" and told[0]["second"] == "mixture" and float(told[0]["p"]) == 0.5  # of two sources that agree
    assert sum(line["test"] == "secondary" and line["rows"] == "all" for line in told) == 10
