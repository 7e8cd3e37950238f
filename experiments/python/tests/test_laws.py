"""Whatever the classes, the columns and the scores are called, every face of the package reads the same rows, or asks what they are."""
import warnings

import numpy as np
import pytest

import localcal
import localcal.metrics

pandas = pytest.importorskip("pandas")
NAMES = np.array(["ant", "bee", "wasp"])


def rows(n=600):
    rng = np.random.default_rng(2)
    s = 2 * rng.normal(size=(n, 3))
    p = np.exp(s / 2) / np.exp(s / 2).sum(axis=1, keepdims=True)
    return s, (rng.random(n)[:, None] > p.cumsum(axis=1)).sum(axis=1)


S, Y = rows()
P = np.exp(S) / np.exp(S).sum(axis=1, keepdims=True)
TURNED = [2, 0, 1]


def fitted(scores, y, said, names):
    """The NLL of temperature scaling, and what it says of each class by its place in NAMES."""
    model = localcal.Calibrator("ts", scores=said).fit(scores, y, classes=names)
    return model.evaluate(scores, y, folds=0, redraws=0, replicates=0)["nll"].value


FACES = {
    "Calibrator": fitted,
    "metrics": lambda scores, y, said, names: localcal.metrics.nll(y, scores, scores=said, classes=names),
    "evaluate": lambda scores, y, said, names: localcal.evaluate(scores, y, scores=said, classes=names, folds=0, redraws=0, replicates=0)["nll"].value,
    "diagnose": lambda scores, y, said, names: localcal.diagnose(scores, y, np.ones((len(Y), 2)) * (np.arange(len(Y)) % 7)[:, None], scores=said, classes=names, redraws=19).report["verdict"]["methods"],
}

# How the rows are written: scores, labels, what the caller says of scores and classes, and by how much the NLL may differ, None where a
# question is right too.
LAWS = {
    "names alone": (S, NAMES[Y], "logits", None, 0),
    "renamed": (S, np.array(["x", "y 1", "é"])[Y], "logits", None, 0),
    "permuted, a frame": (pandas.DataFrame(S[:, TURNED], columns=NAMES[TURNED]), NAMES[Y], "logits", None, 0),
    "permuted, classes=": (S[:, TURNED], NAMES[Y], "logits", NAMES[TURNED], 0),
    "permuted, an ordered category": (S[:, TURNED], pandas.Series(pandas.Categorical(NAMES[Y], NAMES[TURNED], ordered=True)), "logits", None, 0),
    "permuted, names alone": (S[:, TURNED], NAMES[Y], "logits", None, None),
    "permuted, numbers in names": (pandas.DataFrame(S[:, TURNED], columns=["kind2", "kind0", "kind1"]), Y, "logits", None, 0),
    "permuted, numerals": (pandas.DataFrame(S[:, TURNED], columns=["3", "1", "2"]), Y + 1, "logits", None, 0),
    "permuted, numerals of others": (pandas.DataFrame(S[:, TURNED], columns=["3", "1", "2"]), Y, "logits", None, None),
    "numbered from 1": (pandas.DataFrame(S, columns=["kind1", "kind2", "kind3"]), Y, "logits", None, 0),
    "named": (pandas.DataFrame(S, columns=["cat", "dog", "eel"]), Y, "logits", None, 0),
    "permuted, p_NAME": (pandas.DataFrame(S[:, TURNED], columns=["p_" + name for name in NAMES[TURNED]]), NAMES[Y], "logits", None, 0),
    "permuted, floats of numerals": (pandas.DataFrame(S[:, TURNED], columns=[2, 0, 1]), Y.astype(float), "logits", None, 0),
    "permuted, soft labels of names": (pandas.DataFrame(S[:, TURNED], columns=NAMES[TURNED]), pandas.DataFrame(np.eye(3)[Y], columns=NAMES), "logits", None, 0),
    "bytes": (S, NAMES[Y].astype("S"), "logits", None, 0),
    "from 1": (S, Y + 1, "logits", None, 0),
    "log-probabilities": (np.log(P), Y, "log-probabilities", None, 1e-9),
    "probabilities": (P, Y, "probabilities", None, 1e-9),
    "percent": (100 * P, Y, "probabilities", None, 1e-9),
    "percent, rounded": ((100 * P).round(2), Y, "probabilities", None, 1e-3),
    "uint8": (np.clip(np.round(256 * P), 1, 255).astype(np.uint8), Y, "probabilities", None, 2e-2),
    "one-vs-rest": (P / 2, Y, "one-vs-rest", None, 1e-9),
}

# What is asked, by all faces in the same words.
ASKED = {
    "logarithms of base 2": np.log2(P),
    "logarithms of base 10": np.log10(P).round(3),
    "negative logarithms of probabilities": -np.log(P),
    "odds p/": P / (1 - P),
    "logarithms of odds": np.log(P / (1 - P)),
    "reciprocals": 1 / P,
    "1 − p": 1 - P,
}


@pytest.mark.parametrize("face", [face for face in FACES if face != "diagnose"])
@pytest.mark.parametrize("form", ASKED)
def test_forms_of_probabilities_are_asked(form, face):
    with pytest.raises(localcal.InputError, match=f"seems to hold {form}.* sums to 1 in each row; hand over .*scores="):
        FACES[face](ASKED[form], Y, None, None)


@pytest.fixture(scope="module")
def right():
    return {face: measure(S, Y, "logits", None) for face, measure in FACES.items()}


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("law", LAWS)
def test_laws_of_meaning(law, face, right):
    scores, y, said, names, within = LAWS[law]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", localcal.CalibraWarning)
        try:
            got = FACES[face](scores, y, said, names)
        except localcal.InputError as asked:
            assert within is None and ("in another order" in str(asked) or "none of these numbers" in str(asked))
            return
    if face == "diagnose":
        got, right = ({m["method"]: m["nll"] for m in methods}["nc"] for methods in (got, right[face]))
        assert got == pytest.approx(right, abs=(within or 0) + 1e-9)
    else:
        assert got == pytest.approx(right[face], abs=(within or 0) + 1e-9)


def test_truth_values_beside_their_names():
    s = S[:, :2]
    assert localcal.metrics.nll(Y == 0, pandas.DataFrame(s, columns=[True, False]), scores="logits") == localcal.metrics.nll(Y != 0, s, scores="logits")


def test_labels_of_no_class_are_refused():
    for y, words in (((np.arange(len(P) * 3) % 2).reshape(-1, 3), "row 0 of y sums to 1|row . of y sums to 2"), (np.zeros_like(P), "row 0 of y sums to 0")):
        with pytest.raises(localcal.InputError, match=words):
            localcal.metrics.nll(y, P)
    with pytest.raises(localcal.InputError, match="holds a class twice"):
        localcal.metrics.nll(NAMES[Y], P, classes=["ant", "bee", "bee"])


def test_alarms_are_notes():
    """What the command says of the rows is in the report, and the verdict recommends nothing on rows of other classes."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        said = localcal.evaluate(S[:, TURNED], Y, scores="logits", folds=0, redraws=0, replicates=0).report
    assert said["verdict"]["say"] == "check the rows"
    with pytest.warns(localcal.CalibraWarning, match="number the classes in another order"):
        localcal.metrics.nll(Y, P[:, TURNED])
    exchanged = np.column_stack([P[:, [1, 0, 2]] / 2, P / 2])  # two of six classes
    with pytest.warns(localcal.CalibraWarning, match="number the classes in another order"):
        localcal.metrics.nll(Y + 3 * (np.arange(len(Y)) % 2), exchanged)
    with pytest.raises(localcal.InputError, match="columns \\['id'\\] stand beside"):
        localcal.Calibrator("ts").fit(pandas.DataFrame(P, columns=NAMES).assign(id=np.arange(len(P))), NAMES[Y])
    assert "labels" in {n["key"] for n in said["notes"]} and any("number the classes in another order" in str(w.message) for w in heard)
