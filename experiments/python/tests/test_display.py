"""Pictures and cards show the command's numbers."""

import csv
import subprocess

import numpy as np
import pytest

import localcal
from localcal import command
from test_calibra import rows

LOGITS, Y, FEATURES = rows(6)
P = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)


def test_reliability_is_that_of_the_pages(tmp_path):
    said = localcal.reliability(Y, P)
    np.savez(tmp_path / "said.npz", probs=P, labels=Y)
    subprocess.run(
        [command.binary(), "evaluate", "--in", tmp_path / "said.npz", "--folds=0", "--figures", tmp_path / "figures"],
        check=True,
        capture_output=True,
    )
    with (tmp_path / "figures" / "reliability-top.csv").open(newline="") as file:
        curve = [row for row in csv.DictReader(file) if row["part"] == "curve"]
    assert [float(row["x"]) for row in curve] == said.at.tolist() and [
        float(row["low"]) for row in curve
    ] == said.low.tolist()
    assert said.smece == localcal.judging.metric_of(localcal.evaluate(P, Y, folds=0).report["smece_top"])
    assert (
        abs(said.density.sum() - 1) < 1e-12
        and said.bins["rows"].sum() == len(Y)
        and len(said.calibrated_low) == len(said.at)
    )
    true, at = localcal.calibration_curve(Y, P)
    assert np.array_equal(true, said.frequency) and np.array_equal(at, said.at)


def test_weights_and_names():
    names = np.array(["ant", "bee", "cow", "dog"])
    half = localcal.reliability(names[Y], P, classes=names, sample_weight=np.arange(600) % 2)
    assert np.allclose(half.frequency, localcal.reliability(Y[1::2], P[1::2]).frequency, atol=1e-9)


def test_pictures():
    pytest.importorskip("matplotlib").use("Agg")
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression().fit(FEATURES[:300], Y[:300])
    first = localcal.ReliabilityDisplay.from_estimator(model, FEATURES[300:], Y[300:])
    texts = [text.get_text() for text in first.ax_.get_legend().get_texts()]
    assert (
        any(text.startswith("LogisticRegression: smECE") for text in texts)
        and "95 % of the curves of calibrated predictions" in texts
    )
    second = localcal.ReliabilityDisplay.from_predictions(Y, P, name="other", ax=first.ax_)
    assert second.figure_ is first.figure_
    later = [text.get_text() for text in second.ax_.get_legend().get_texts()]
    assert later[: len(texts)] == texts and len(later) == len(texts) + 1 and later[-1].startswith("other: smECE")


def test_cards():
    model = localcal.Calibrator("pool").fit(LOGITS, Y, features=FEATURES)
    said = model._repr_html_()
    assert (
        "pool, fitted to 600 rows of 4 classes, 8 features" in said
        and "held-out NLL" in said
        and "<iframe srcdoc=" in said
        and "npz" not in said.split("<details")[0]
    )
    compared = localcal.Calibrator("ts").compare(3 * LOGITS, Y)
    card = compared._repr_html_()
    assert compared.verdict.sentence.split(".")[0] in card and "gain of NLL" in card and card.count("<tr>") == 3
