"""What a new user gets wrong: each call, the class of its exception, and the sentence that it says."""
import importlib
import sys
import warnings

import numpy as np
import pytest

import localcal

pandas = pytest.importorskip("pandas")
pytest.importorskip("sklearn")

MISTAKES = [
    ('Calibrator(methd="ts")', "TypeError", "Calibrator() got an unexpected keyword argument 'methd': do you mean 'method'?"),
    ('Calibrator("vq", slots=4)', "TypeError", "Calibrator() got an unexpected keyword argument 'slots': do you mean 'codebook__slots' or 'joint__slots'?"),
    ('Calibrator("vq", codebook__slotz=4)', "TypeError", "Calibrator() got an unexpected keyword argument 'codebook__slotz': do you mean 'codebook__slots'?"),
    ('Calibrator("temperature_scaling").fit(logits, y)', "InputError", 'there is no method "temperature_scaling"; choose one of spline, venn-abers, ts-published, corrected, vq-centred and 33 more; localcal.methods() lists all'),
    ('Calibrator("pol").fit(logits, y, features)', "InputError", 'there is no method "pol"; did you mean pool? Choose one of pool, ps, pc, vq, nc and 33 more; localcal.methods() lists all'),
    ('Calibrator("ts", codebook__slots=4).fit(logits, y)', "InputError", "ts has no setting codebook__slots, which vq has; localcal.settings(method) lists what a method has"),
    ('Calibrator("vq", codebook__slots=0).fit(logits, y, features)', "InputError", 'codebook__slots is "0"; it must be a whole number ≥ 1'),
    ('Calibrator("vq", optim__rate="fast").fit(logits, y, features)', "InputError", 'optim__rate is "fast"; it must be a number > 0'),
    ('Calibrator("vq", optim__rule="adm").fit(logits, y, features)', "InputError", 'optim__rule is "adm"; it must be a word of lbfgs, adam, adamw, nadam, lion, sgd, sam, lookahead'),
    ('Calibrator("vq", codebook__slots=3).fit(logits, y, features)', "InputError", "fit vq: 3 slots do not divide 4 features; choose a divisor of 4"),
    ('Calibrator("ts", split="half").fit(logits, y)', "InputError", 'there is no split "half"; choose paper, tables or none'),
    ('Calibrator("ts", scores="logit").fit(logits, y)', "InputError", 'scores must be logits, probabilities, log-probabilities or one-vs-rest, not "logit"'),
    ('Calibrator("ts", program="./none").fit(logits, y)', "FileNotFoundError", "./none is no program; name the binary that go build writes"),
    ('Calibrator("ts", seed="a").fit(logits, y)', "InputError", "seed is 'a'; it must be a whole number of 0 or more"),
    ('Calibrator("ts", seed=1, random_state=2).fit(logits, y)', "InputError", "seed is 1 and random_state is given too; they are two names of one parameter, so leave out one"),
    ('Calibrator("ts").fit(logits)', "InputError", "fit requires y to be passed, but the target y is None"),
    ('Calibrator("ts").fit(y, logits)', "InputError", "X has one column and y has 3: X takes the logits and y the classes, so these may be exchanged"),
    ('Calibrator("ts").fit(logits, y[:-1])', "InputError", "logits has 300 rows and y has 299; they must have the same"),
    ('Calibrator("ts").fit(logits, y + 0.5)', "InputError", "y is continuous: it holds 2.5 at row 0; it must hold a class for each row. Unknown label type: continuous"),
    ('Calibrator("ts").fit(logits, [None] * N)', "InputError", "y holds None at row 0; leave out the rows without a label"),
    ('Calibrator("ts").fit(logits, np.where(y == 0, np.nan, y))', "InputError", "y holds nan at row 3; leave out the rows without a label"),
    ('Calibrator("ts").fit(logits, np.array([1, "a", 2.5] * 100, dtype=object))', "InputError", "y holds values that are neither all whole numbers nor all text. Unknown label type: name the classes by numbers or by text"),
    ('Calibrator("ts").fit(noise, names)', "InputError", "the labels are names, and the order of the columns is not known: it may be the alphabet or the order of the rows, and the rows do not tell; hand over classes=, the classes in the order of the columns"),
    ('Calibrator("ts").fit(logits, np.arange(N).astype(str))', "InputError", "y holds 300 classes and there are 3 columns; hand over classes=, the classes in the order of the columns"),
    ('Calibrator("ts").fit(logits, np.eye(3)[y] * 2)', "InputError", "row 0 of y sums to 2; hand over one class for each row, or the probabilities of all classes, which sum to 1"),
    ('Calibrator("ts").fit(np.where(hole, np.nan, logits), y)', "InputError", "logits holds NaN at row 7, column 0; every value must be finite"),
    ('Calibrator("ts").fit(np.where(hole, np.inf, logits), y)', "InputError", "logits holds +Inf at row 7, column 0; every value must be finite"),
    ('Calibrator("ts").fit(np.full((N, 3), "a"), y)', "InputError", "logits must be numbers: could not convert string to float: np.str_('a')"),
    ('Calibrator("ts").fit(np.ma.masked_greater(logits, 5), y)', "InputError", "logits is masked at row 0: the value is missing; leave out the rows that lack one, or fill them in"),
    ('Calibrator("ts").fit(logits[:, None, :], y)', "InputError", "logits has the shape (300, 1, 3); it must have a row for each case and a column for each class. If these are tokens, N×T×C: logits.reshape(-1, C) and y.reshape(-1), without the rows whose label is ignored. Of several outputs, calibrate each by itself"),
    ('Calibrator("ts").fit(logits[:0], y[:0])', "InputError", "logits has shape (0, 3); it must have at least one row and one column"),
    ('Calibrator("vq").fit(logits, y)', "InputError", "the method needs features and the rows have none; pass features=…, or name columns of X by the parameter features"),
    ('Calibrator("local-ts").fit(logits, y, features[:-1])', "InputError", "features has 299 rows and logits has 300; they must have the same"),
    ('Calibrator("local-ts").fit(logits, y, np.where(hole, np.nan, features))', "InputError", "features holds NaN at row 7, column 0; every value must be finite"),
    ('Calibrator("local-ts").fit(logits, y, features.astype(str))', "InputError", 'features has dtype "<U32"; it must be of float16, float32, float64 or an integer type'),
    ('Calibrator("local-ts").fit(logits, y, features[:, 0])', "InputError", "features has shape (300,); it must have two axes, rows and columns; write features.reshape(-1, 1)"),
    ('Calibrator("vq", features=["age"]).fit(pd.DataFrame(logits, columns=list("abc")), y)', "InputError", "X has no column 'age', which features names; it has a, b, c"),
    ('Calibrator("ts").fit(logits, y, sample_weight=np.ones(3))', "InputError", "sample_weight has shape (3,) and there are 300 rows; it must have one weight for each"),
    ('Calibrator("ts").fit(logits, y, sample_weight=-np.ones(N))', "InputError", "sample_weight holds -1 at row 0; a weight is a number of 0 or more"),
    ('Calibrator("ts").fit(logits, y, sample_weight=np.zeros(N))', "InputError", "sample_weight is zero for every row; some row must count"),
    ('Calibrator("vq").fit(logits, y, features, groups=[1, 2])', "InputError", "groups has the shape (2,); it must be (300,), one group for each row"),
    ('Calibrator("vq").fit(logits, y, features, groups=np.zeros(N))', "InputError", "groups has 1 groups, too few to validate on some and to fit on others; leave them out"),
    ('Calibrator("vq", split="none").fit(logits, y, features, groups=y)', "InputError", 'groups part the rows into those fitted and those validated on, and split="none" validates on none; leave out one of them'),
    ('Calibrator("ts").fit(logits, y, classes=[0, 1])', "InputError", "classes= has 2 classes and there are 3 columns; name one for each"),
    ('Calibrator("ts").fit(logits, y, classes=[0, 1, 1])', "InputError", "classes= holds a class twice: [0, 1, 1]; every column has its own"),
    ('Calibrator("ts").fit(logits, y, classes=[5, 6, 7])', "InputError", "y holds 2 at row 0, which is none of the classes [5, 6, 7]"),
    ('Calibrator("ts", scores="probabilities").fit(logits, y)', "InputError", "logits holds -0.3267441837222697 at row 0, column 0, which is no probability; hand over probabilities, or say by scores= what these are"),
    ('Calibrator("ts", scores="log-probabilities").fit(logits, y)', "InputError", 'row 41 of logits sums to 78253.9; the exponentials of log-probabilities must sum to 1: if these are logits, say scores="logits"'),
    ('Calibrator("ts").fit(p * stretch, y)', "InputError", 'logits may be logits or probabilities: 150 of 300 rows sum to 1, and it holds 1.198106379173558 at row 0, column 2; say which by scores="logits", probabilities, log-probabilities or one-vs-rest'),
    ('Calibrator("ts").predict_proba(logits)', "NotFittedError", "this Calibrator is not fitted yet; call fit first"),
    ("fitted.predict_proba(logits[:, :2])", "InputError", "X has 2 features, but Calibrator is expecting 3 features as input: a column of logits for each class"),
    ("fitted.predict_proba(logits[:, 0])", "InputError", "logits has one dimension, which is one value for each row of two classes, and the model has 3. Reshape your data to N×3"),
    ("local.predict_proba(logits)", "InputError", "the method needs features and the rows have none; pass features=…, or name columns of X by the parameter features"),
    ("local.predict_proba(logits, features[:, :3])", "InputError", "the rows have 3 features, the model was fitted on 4"),
    ("local.predict_proba(logits, features[:5])", "InputError", "features has 5 rows and logits has 300; they must be of the same rows"),
    ("local.predict_proba(logits, features * 1000 + 5)", "InputError", "the features look scaled otherwise: the spread of the middle column is 1e+03 times that of the fit; scale them as they were (accept_shift=True if they are right)"),
    ("fitted.predict_proba(p)", "InputError", 'logits holds probabilities and the model was fitted on logits; hand over logits, or fit on probabilities (scores="logits" if these are logits)'),
    ('Calibrator("ts").fit(pd.DataFrame(logits, columns=list("abc")), y).predict_proba(pd.DataFrame(logits, columns=list("xyz")))', "InputError", "X has no column 'a', which the rows of the fit have; the feature names should match those that were passed during fit"),
    ("fitted.predict_sets(logits, level=90)", "InputError", "level is 90; it must lie between 0 and 1"),
    ("fitted.predict_sets(logits, held_out=(logits,))", "InputError", "held_out has 1 parts; it must be (logits, y) or (logits, y, features)"),
    ('Calibrator.load("/tmp/nowhere")', "InputError", "/tmp/nowhere holds no model.safetensors; name a folder that save or calibra fit wrote"),
    ("fitted.score(logits, y[:5])", "InputError", "y has 5 rows and logits have 300; they must be of the same rows"),
    ("evaluate(logits, y)", "InputError", "p holds -0.3267441837222697 at row 0, column 0, which is no probability; hand over probabilities, or say by scores= what these are"),
    ("evaluate(p, y, nosuch=1)", "InputError", "there is no option nosuch=; `calibra evaluate --help --all` lists them, each as a flag"),
    ("evaluate(p, y, features[:5])", "InputError", "features has 5 rows and the predictions have 300; they must be of the same rows"),
    ("evaluate(p, y, groups=y[:5])", "InputError", "groups has 5 rows and there are 300; they must have the same"),
    ('evaluate(p, y, replicates="many")', "InputError", "replicates must be a whole number"),
    ('Calibrator("ts").compare(logits, y, methods=["nosuch"])', "InputError", 'there is no method "nosuch"; choose one of nc, vq-nc, vq-dc, ts, ps and 33 more; localcal.methods() lists all'),
    ('Calibrator("ts").compare(logits, y, folds=1)', "InputError", "folds is 1; there must be two or more"),
    ("metrics.nll(y, logits)", "InputError", "y_prob must hold at least one row, and in each row probabilities that sum to 1; of others, scores= says what they are: logits, probabilities, log-probabilities or one-vs-rest"),
    ("metrics.ece(y[:5], p)", "InputError", "y_true has 5 rows and y_prob has 300; they must be of the same rows"),
    ("metrics.lce(y, p, None)", "InputError", "lce is measured in features; hand them over"),
    ("metrics.ece(y, p, bins=0)", "InputError", "bins is 0; there must be at least one"),
    ('CalibratedClassifier(cv="three").fit(features, y)', "InputError", 'cv is \'three\'; it must be "prefit", a number of folds, or a splitter'),
    ('CalibratedClassifier(method="ts", settings={"codebook.slots":4}).fit(features, y)', "InputError", "ts has no setting codebook__slots, which vq has; localcal.settings(method) lists what a method has"),
    ("CalibratedClassifier().fit(features, y, sample_weight=[1, 2])", "InputError", "sample_weight has the shape (2,); it must have one number for each of 300 rows"),
    ('CalibratedClassifier(latent="avgpool", ensemble=True).fit(features, y)', "InputError", "latent='avgpool' names a layer, and LogisticRegression holds no network as module_; hand over a callable or a transformer"),
    ("CalibratedClassifier(latent=lambda e, X: X).fit(features, y)", "InputError", 'latent takes features from the estimator, which differ from fold to fold; choose ensemble=True or cv="prefit"'),
    ('localcal.settings("nosuch")', "InputError", 'there is no method "nosuch"; choose one of nc, vq-nc, vq-dc, ts, ps and 33 more; localcal.methods() lists all'),
    ('Calibrator("sm").fit(logits, y).temperature_', "AttributeError", "temperature_ is there after the fit of a method with one temperature, such as ts; weights_ has the numbers of every method"),
]

# What the sentences of a face in Python have no place for: files and flags.
FOREIGN = (".npz", "--seed", "--logits", "--scores", "--set", "--accept-shift", "--features", "calibra methods")


@pytest.fixture(scope="module")
def given():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=300)
    logits = 3 * (np.eye(3)[y] + rng.normal(size=(300, 3)))
    features = rng.normal(size=(300, 4))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    given = {"np": np, "pd": pandas, "localcal": localcal, "y": y, "logits": logits, "features": features, "p": p, "N": 300}
    given |= {name: getattr(localcal, name) for name in ("CalibratedClassifier", "Calibrator", "evaluate", "metrics")}
    given |= {"noise": rng.normal(size=(300, 3)), "names": np.array(["b", "c", "a"])[rng.integers(3, size=300)]}
    hole = np.zeros((300, 1), dtype=bool)
    hole[7] = True
    given |= {"hole": hole, "stretch": np.where(np.arange(300) % 2, 1, 1.2)[:, None]}
    given["fitted"] = localcal.Calibrator("ts").fit(logits, y)
    given["local"] = localcal.Calibrator("local-ts", accept_shift=False).fit(logits, y, features)
    return given


@pytest.mark.parametrize("call, error, sentence", MISTAKES, ids=[call for call, _, _ in MISTAKES])
def test_a_mistake_is_told(given, call, error, sentence):
    with warnings.catch_warnings(), pytest.raises(Exception) as told:
        warnings.simplefilter("ignore")
        eval(call, given)
    assert type(told.value).__name__ == error and str(told.value) == sentence
    assert not any(word in sentence for word in FOREIGN) and sentence[-1] not in ".;"


def test_a_package_that_is_lacking_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "localcal.torch", raising=False)
    with pytest.raises(ModuleNotFoundError, match="^localcal.torch needs torch, which is not installed: pip install torch$"):
        importlib.import_module("localcal.torch")


def test_a_verdict_speaks_python(given):
    said = localcal.Calibrator("ts").compare(given["logits"][:, [1, 0, 2]], given["y"], classes=[0, 1, 2]).verdict
    assert said.say == "check the rows" and all("add class_names" not in line and "pass classes" in line for line in said.why)
