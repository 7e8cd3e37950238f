"""What popular tools write, as files and in Python: each is read right, or asked about or refused in a sentence, and never read wrong."""
import functools
import json
import tempfile
import types
import warnings

import numpy as np
import pytest

import localcal
import localcal.metrics

pandas = pytest.importorskip("pandas")
optimize = pytest.importorskip("scipy.optimize")

NAMES = np.array(["ant", "bee", "wasp"])
TRAIN, N = 300, 400  # rows that a classifier learns from, and rows that it predicts: half of them for the fit


def problem(binary=False):
    """Features of three classes, or two, that overlap."""
    rng = np.random.default_rng(7)
    y = rng.integers(2 if binary else 3, size=TRAIN + N)
    return rng.normal(size=(len(y), 4)) + 1.2 * np.eye(4)[y], y


class Said:
    """What a tool says of N rows: scores as its users hold them in Python, and as a table or arrays in a file.

    right are the logarithms of the probabilities that it means (N×C), for the labels `number`. say is what the caller says that the
    scores are, and asked are the words of the sentence by which each cell is refused, "" where it must be right.
    """

    def __init__(self, scores, right, number, labels=None, frame=None, names=None, say=None, asked=None):
        self.scores, self.number, self.frame, self.names, self.say = scores, number, frame, names, say
        self.right = right - np.logaddexp.reduce(right, axis=1)[:, None]
        self.labels = number if labels is None else labels
        self.asked = {"fit": "", "evaluate": "", "python": ""} | (dict.fromkeys(("fit", "evaluate", "python"), asked) if isinstance(asked, str) else asked or {})

    def file(self, folder, parted):
        """The file that holds them, with the parts of a fit."""
        part = np.array(["cal"] * (N // 2) + ["test"] * (N // 2))
        if self.frame is not None:
            frame = self.frame.assign(set=part) if parted else self.frame
            frame.to_csv(folder / "said.csv", index=False)
            return folder / "said.csv"
        scores, names = np.asarray(self.scores), {} if self.names is None else {"class_names": self.names}
        if parted:
            rows = {f"{name}_{key}": values[part == name] for name in ("cal", "test") for key, values in (("logits", scores), ("labels", self.labels))}
        else:
            rows = {"logits": scores, "labels": self.labels}
        np.savez(folder / "said.npz", **rows, **names)
        return folder / "said.npz"


def logarithms(p):
    return np.log(np.maximum(np.asarray(p, dtype=float), 1e-12))


def learned(model, binary=False, text=True):
    """A classifier of scikit-learn's kind that learned from the first rows, with the features of the others and their labels."""
    X, y = problem(binary)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:TRAIN], NAMES[y[:TRAIN]] if text else y[:TRAIN])
    return model, X[TRAIN:], y[TRAIN:]


def probabilities(model, text=True, **more):
    """The tool's predict_proba, whose columns are classes_."""
    model, X, y = learned(model, text=text)
    p = model.predict_proba(X)
    return Said(p, logarithms(p), y, NAMES[y] if text else y, names=NAMES if text else None, **more)


def scikit_learn():
    return probabilities(pytest.importorskip("sklearn.linear_model").LogisticRegression(C=10))


def forest_votes():
    """Shares of votes, many of which are 0."""
    return probabilities(pytest.importorskip("sklearn.ensemble").RandomForestClassifier(20, random_state=0), text=False)


def naive_bayes():
    return probabilities(pytest.importorskip("sklearn.naive_bayes").GaussianNB(var_smoothing=1e-12), text=False)


def naive_bayes_logarithms():
    model, X, y = learned(pytest.importorskip("sklearn.naive_bayes").GaussianNB(), text=False)
    said = model.predict_log_proba(X)
    return Said(said, said, y, say="log-probabilities")


def xgboost():
    tool = pytest.importorskip("xgboost")
    return probabilities(tool.XGBClassifier(n_estimators=20, n_jobs=1), text=False)


def xgboost_margins():
    tool = pytest.importorskip("xgboost")
    model, X, y = learned(tool.XGBClassifier(n_estimators=20, n_jobs=1), text=False)
    said = model.predict(X, output_margin=True)
    return Said(said, said.astype(float), y)


def lightgbm():
    tool = pytest.importorskip("lightgbm")
    return probabilities(tool.LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1), text=False)


def lightgbm_raw_scores():
    tool = pytest.importorskip("lightgbm")
    model, X, y = learned(tool.LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1), binary=True, text=False)
    m = model.predict(X, raw_score=True)  # one value for each row
    said = Said(np.column_stack([np.zeros_like(m), m]), np.column_stack([np.zeros_like(m), m]), y)
    said.scores_in_python = m
    return said


def catboost():
    tool = pytest.importorskip("catboost")
    return probabilities(tool.CatBoostClassifier(iterations=20, verbose=False, allow_writing_files=False, thread_count=1))


def catboost_raw():
    tool = pytest.importorskip("catboost")
    model, X, y = learned(tool.CatBoostClassifier(iterations=20, verbose=False, allow_writing_files=False, thread_count=1))
    said = model.predict(X, prediction_type="RawFormulaVal")
    return Said(said, said, y, NAMES[y], names=NAMES)


def torch():
    tool = pytest.importorskip("torch")
    said = made()
    said.scores = tool.tensor(said.scores, dtype=tool.float32, requires_grad=True)
    said.right = np.log(np.asarray(said.scores.detach().softmax(1), dtype=float))
    said.file = Said(said.scores.detach().numpy(), said.right, said.number).file
    return said


def made(do=lambda s: s, **more):
    """Rows of a classifier that claims too much, labelled as it means; do makes its scores of their logits."""
    rng = np.random.default_rng(3)
    s = 2 * rng.normal(size=(N, 3))
    p = np.exp(s / 2) / np.exp(s / 2).sum(axis=1, keepdims=True)
    y = (rng.random(N)[:, None] > p.cumsum(axis=1)).sum(axis=1)
    said = do(s)
    return Said(said, more.pop("right", lambda _: s)(said), y, **more)


def softmax(s):
    return np.exp(s) / np.exp(s).sum(axis=1, keepdims=True)


def predictions():
    """What a Trainer of Hugging Face predicts, made without one: logits in float32."""
    said = made(lambda s: s.astype(np.float32), right=lambda s: s.astype(float))
    said.trainer = types.SimpleNamespace
    return said


@functools.cache
def trainer():
    """What a Trainer predicts of sentences of four words, which its small network has read for 40 steps."""
    pytest.importorskip("torch"), pytest.importorskip("accelerate")
    transformers = pytest.importorskip("transformers")
    rng = np.random.default_rng(5)
    y = rng.integers(3, size=TRAIN + N)
    words = np.where(rng.random((TRAIN + N, 4)) < 0.5, y[:, None], rng.integers(3, size=(TRAIN + N, 4)))
    rows = [{"input_ids": of, "labels": label} for of, label in zip(words.tolist(), y.tolist())]
    transformers.set_seed(0)
    model = transformers.BertForSequenceClassification(transformers.BertConfig(vocab_size=4, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8, num_labels=3))
    with tempfile.TemporaryDirectory() as folder:
        how = transformers.TrainingArguments(folder, max_steps=40, learning_rate=0.02, use_cpu=True, report_to=[], save_strategy="no", logging_strategy="no", disable_tqdm=True)
        learned = transformers.Trainer(model, how, train_dataset=rows[:TRAIN])
        learned.train()
        told = learned.predict(rows[TRAIN:])
    said = Said(told.predictions, told.predictions.astype(float), told.label_ids)
    said.trainer = transformers.EvalPrediction
    return said


def table(columns, more, order=(0, 1, 2), digits=6, **said):
    """A table with a column of probabilities for each class, in an order of its own, and more columns before and after them."""
    rows = made(lambda s: softmax(s).round(digits), right=logarithms)
    frame = pandas.DataFrame({columns.format(NAMES[k]): rows.scores[:, k] for k in order})
    top = NAMES[rows.scores.argmax(axis=1)]
    for name, what in more.items():
        values = {"id": np.arange(N), "truth": NAMES[rows.number], "top": top}[what]
        frame.insert(0 if what != "truth" else len(frame.columns), name, values)
    scores = frame[[columns.format(NAMES[k]) for k in order]].rename(columns=dict(zip([columns.format(n) for n in NAMES], NAMES)))
    return Said(scores, rows.right, rows.number, NAMES[rows.number], frame=frame, **said)


def h2o_numbers():
    rows = made(softmax, right=logarithms)
    frame = pandas.DataFrame(rows.scores, columns=["p0", "p1", "p2"])
    frame.insert(0, "predict", rows.scores.argmax(axis=1))
    return Said(rows.scores, rows.right, rows.number, frame=frame.assign(y=rows.number))


def tflite(**said):
    """The softmax of a quantized network: 256ths, of which 256 is cut to 255."""
    return made(lambda s: np.minimum(np.round(256 * softmax(s)), 255).astype(np.uint8), right=logarithms,
                **said)


def fasttext(tmp_path, **said):
    """The sigmoid of each class by itself (loss ova), plus 1e-5, of texts whose words their class makes likely."""
    tool = pytest.importorskip("fasttext")
    rng = np.random.default_rng(5)
    y = rng.integers(3, size=TRAIN + N)
    texts = [" ".join(f"w{k}" for k in np.where(rng.random(4) < 0.5, label, rng.integers(3, size=4))) for label in y]
    (tmp_path / "texts").write_text("\n".join(f"__label__{NAMES[k]} {text}" for k, text in zip(y, texts[:TRAIN])))
    model = tool.train_supervised(str(tmp_path / "texts"), loss="ova", verbose=0, epoch=20, lr=1, thread=1)
    rows = [dict((name, p) for p, name in model.f.predict(text + "\n", -1, 0.0, "strict")) for text in texts[TRAIN:]]
    q = np.array([[row[f"__label__{name}"] for name in NAMES] for row in rows])
    return Said(q, logarithms(q / q.sum(axis=1, keepdims=True)), y[TRAIN:], NAMES[y[TRAIN:]], names=NAMES, **said)


def one_against_the_rest(**said):
    return made(lambda s: 1 / (1 + np.exp(1 - s)), right=lambda q: np.log(q / q.sum(axis=1, keepdims=True)), **said)


ASKED = "may be logits, probabilities, or probabilities of each class against the rest|probabilities that sum to 1"
TOOLS = {
    "scikit-learn": scikit_learn,
    "scikit-learn, votes": forest_votes,
    "naive Bayes": naive_bayes,
    "naive Bayes, logarithms": naive_bayes_logarithms,
    "XGBoost": xgboost,
    "XGBoost, margins": xgboost_margins,
    "LightGBM": lightgbm,
    "LightGBM, raw scores": lightgbm_raw_scores,
    "CatBoost": catboost,
    "CatBoost, raw": catboost_raw,
    "torch": torch,
    "Hugging Face": trainer,
    "Hugging Face, made": predictions,
    "AutoGluon": lambda: table("{}", {"label": "truth"}, (2, 0, 1)),
    "H2O": lambda: table("{}", {"predict": "top", "label": "truth"}, (1, 0, 2)),
    "H2O, numbers": h2o_numbers,
    "caret": lambda: table("{}", {"pred": "top", "obs": "truth", "rowIndex": "id"}, (0, 2, 1)),
    "tidymodels": lambda: table(".pred_{}", {".pred_class": "top", "class": "truth"}, (2, 1, 0)),
    "mlr3": lambda: table("prob.{}", {"response": "top", "truth": "truth", "row_ids": "id"}, (1, 2, 0), digits=7),
    "Kaggle": lambda: table("{}", {"id": "id"}, asked={"fit": "raw rows|no label|label", "evaluate": "label"}),
    "TFLite": lambda: tflite(say="probabilities"),
    "TFLite, unsaid": tflite,
    "one against the rest, unsaid": lambda: one_against_the_rest(asked=ASKED),
    "one against the rest": lambda: one_against_the_rest(say="one-vs-rest"),
    "fastText, unsaid": lambda tmp_path: fasttext(tmp_path, asked=ASKED),
    "fastText": lambda tmp_path: fasttext(tmp_path, say="one-vs-rest"),
}


def loss(right, y):
    return -np.maximum(right[np.arange(len(y)), y], np.log(1e-12)).mean()  # the floor of the metrics


def tempered(said):
    """The NLL of the last rows at the temperature that fits the first, by SciPy."""
    half = N // 2

    def at(b, rows):
        s = np.exp(b) * said.right[rows]
        return loss(s - np.logaddexp.reduce(s, axis=1)[:, None], said.number[rows])

    b = optimize.minimize_scalar(at, bounds=(-8, 3), args=(slice(0, half),), method="bounded", options={"xatol": 1e-9}).x
    return at(b, slice(half, N))


def cell(said, what, tmp_path):
    """What a cell of the matrix says: the NLL of all rows of evaluate, and of temperature scaling of the last of fit and Python."""
    half, words = N // 2, ["--json"] + (["--scores", said.say] if said.say else [])
    if what == "evaluate":
        told = localcal.run(what, "--in", said.file(tmp_path, False), "--folds", 0, "--redraws", 0, "--replicates", 0, *words)
        return json.loads(told)["metrics"]["nll"]["value"], loss(said.right, said.number)
    if what == "fit":
        told = localcal.run(what, "--in", said.file(tmp_path, True), "--method", "ts", "--out", tmp_path / "run", *words)
        return json.loads(told)["results"]["nll"], tempered(said)
    scores, labels = getattr(said, "scores_in_python", said.scores), said.labels
    first, last = scores[:half], scores[half:]
    model = localcal.Calibrator("ts", scores=said.say)
    if hasattr(said, "trainer"):
        model.fit(said.trainer(predictions=first, label_ids=labels[:half]))
    else:
        model.fit(first, labels[:half])
    names = model.classes_.tolist()
    p = model.predict_proba(last)
    return -np.log(p[np.arange(half), [names.index(y) for y in labels[half:].tolist()]]).mean(), tempered(said)


@pytest.mark.parametrize("what", ["fit", "evaluate", "python"])
@pytest.mark.parametrize("tool", TOOLS)
def test_what_tools_write(tool, what, tmp_path):
    said = TOOLS[tool](tmp_path) if tool.startswith("fastText") else TOOLS[tool]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", localcal.CalibraWarning)
        if said.asked[what]:
            with pytest.raises(localcal.InputError, match=said.asked[what]):
                cell(said, what, tmp_path)
            return
        got, right = cell(said, what, tmp_path)
    assert got == pytest.approx(right, abs=1e-5)  # the search for the temperature of either ends within that
