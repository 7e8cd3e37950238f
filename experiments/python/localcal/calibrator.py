"""The calibrator as an estimator."""
from __future__ import annotations

import difflib
import hashlib
import json
import os
import pathlib
import threading
import typing

import numpy as np

from localcal import judging
from localcal.card import card
from localcal.classes import classes_of, columns, numbered, of_single, single, soft
from localcal.command import InputError, array, plain, warn, write
from localcal.keywords import Settings
from localcal.network import Network
from localcal.routing import Routed
from localcal.safetensors import metadata, tensors
from localcal.shift import FEWEST, INPUTS, KINDS, Check, Glance, plain_rows
from localcal.spoken import spoken
from localcal.tables import Array, Names, Parts, Rows, parts
from localcal.worker import working

if typing.TYPE_CHECKING:
    from typing_extensions import Unpack

# Files that a run may have; save removes those of an earlier run.
FILES = ("config.json", "curves.csv", "embedding.npz", "manifest.json", "metrics.json", "model.safetensors", "predictions.npz", "report.html")

NETWORK = "model.onnx"

UNSAID = {"method": None, "split": None, "seed": 0, "random_state": None, "features": None, "accept_shift": None, "scores": None, "program": None}
VALIDATED = 0.1  # the share of the rows that whole groups of at least so many are validated on, as the command's split "paper"

_making = threading.Lock()  # held while a loaded model gets its network


class Calibrator(Routed):
    """Calibrates a classifier's probabilities by a method of calibra.

    Parameters
    ----------
    method : str or None
        The method to fit: "pool", "vq", "ts", or another that `calibra methods --all` lists. None takes the recommended
        method, as in `calibra fit`: pool; without features sm, with fewer than 64 rows ts, and a CalibraWarning says so.
    split : {"paper", "tables", "none"} or None
        Where validation rows come from; None is the method's own.
    seed : int
        Seed of the split, the initial weights and the batches.
    random_state : int, RandomState, Generator or None
        scikit-learn's name of seed, in its place where it is given.
    features : list of names or numbers, or None
        The columns of X that are features, if X holds them beside the logits.
    accept_shift : bool or None
        What becomes of rows whose columns seem to have another order or scale than in the fit: True predicts them, False refuses them, and
        None predicts them with a CalibraWarning, once for each cause. Of large batches predict looks at some rows; check looks at all.
    scores : {"logits", "probabilities", "log-probabilities", "one-vs-rest"} or None
        What X holds: logits (before the softmax), probabilities (after it, on any scale), log-probabilities, or one-vs-rest (a
        probability of each class against the others, divided by the sums of the rows). None judges them by their values, and
        an InputError asks where these may be several. The model remembers it for the rows that it predicts.
    program : path or None
        The binary of a program with methods of its own, such as `calibra new` writes and `go build` makes. None is the command that
        came with this package, or that the environment variable CALIBRA names.
    **settings
        Settings of the method, as localcal.settings(method) lists them: codebook__slots=16, optim__rate=3e-4.

    Attributes
    ----------
    classes_ : array (C)
        The classes of y, one for each column of the logits.
    n_features_in_ : int
        The columns of X.
    feature_names_in_ : array
        Their names, where X is a frame or a table.
    weights_ : dict
        The numbers that were fitted: arrays by their names in the model file.
    temperature_ : float
        Of a method that has one temperature: ts, ts-published.
    verdict_ : Verdict or None
        Of the last compare since the fit. None before: a fit has no rows to test it on.
    scores_ : str
        What the rows of the fit were, as the parameter scores has it.
    run_ : dict
        The files that calibra fit wrote: their bytes by name.
    result_ : dict
        The output of calibra fit --json.

    Fit it to rows that the classifier was not trained on. ONNX Runtime predicts in this process, within 1e-6 of
    calibra apply; for methods that have no network (kc, pc) the command predicts.

    Examples
    --------
    >>> import localcal, numpy as np
    >>> y = np.arange(300) % 3
    >>> logits = 4 * np.eye(3)[(y + (np.arange(300) % 5 == 0)) % 3]     # one row in five is wrong
    >>> localcal.Calibrator("ts").fit(logits, y).predict_proba(logits[:1]).round(3)
    array([[0.1, 0.8, 0.1]])

    Its answers, their classes and logarithms, and how good they are:

    >>> model = localcal.Calibrator(seed=1).set_params(method="ts").fit(logits, y)
    >>> model.get_params()["method"], model.predict(logits[:4]), model.predict_log_proba(logits).shape, model.score(logits, y)
    ('ts', array([1, 1, 2, 0]), (300, 3), 0.8)
    >>> model.predict_sets(logits[:1], logits[:1], held_out=(logits, y, logits), level=0.85)
    array([[ True,  True,  True]])
    >>> features = np.random.default_rng(0).normal(size=(300, 2))       # without which equal rows count as copies
    >>> round(model.evaluate(logits, y, folds=0)["nll"].value, 2), model.diagnose(logits, y, features=features).verdict.say
    (0.64, 'use')

    What was fitted can be read:

    >>> round(model.temperature_, 2), {name: value.shape for name, value in model.weights_.items()}
    (1.92, {'temperature/log': (1,)})

    Whether other rows look like those of the fit:

    >>> model.check(logits).ok, model.check(100 * logits).ok
    (True, False)

    A model is kept in a folder, which calibra apply reads too:

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(folder)
    ...     localcal.Calibrator.load(folder).predict(logits[:4])
    array([1, 1, 2, 0])
    """

    def __init__(self, method: str | None = None, *, split: str | None = None, seed: int = 0, random_state: typing.Any = None, features: Names | None = None, accept_shift: bool | None = None, scores: str | None = None, program: str | os.PathLike[str] | None = None, **settings: Unpack[Settings]) -> None:
        self.method, self.split, self.seed, self.random_state, self.features = method, split, seed, random_state, features
        self.accept_shift, self.scores, self.program = accept_shift, scores, program
        for name, value in settings.items():
            if unknown := _unknown(name := name.replace(".", "__"), program):
                raise TypeError(f"Calibrator() got an unexpected keyword argument {name!r}: {unknown}")
            setattr(self, name, value)

    def get_params(self, deep: bool = True) -> dict[str, typing.Any]:
        """The parameters by their names, settings among them.

        Parameters
        ----------
        deep : bool
            Nothing lies deeper; scikit-learn asks.

        Returns
        -------
        dict
        """
        return {name: value for name, value in vars(self).items() if not name.endswith("_") and not name.startswith("_")}

    def set_params(self, **params: typing.Any) -> Calibrator:
        """Sets parameters and settings by their names.

        Parameters
        ----------
        **params
            As the constructor takes them.

        Returns
        -------
        Calibrator
            Itself.
        """
        for name, value in params.items():
            name = name.replace(".", "__")
            if unknown := _unknown(name, params.get("program", self.program)):
                raise InputError(f"Calibrator has no parameter {name!r}: {unknown}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        given = [f"{name}={value!r}" for name, value in self.get_params().items() if name not in UNSAID or value is not UNSAID[name]]
        return f"Calibrator({', '.join(given)})"

    def fit(self, X: Rows, y: Rows = None, features: Rows = None, sample_weight: Rows = None, groups: Rows = None, classes: Rows = None) -> Calibrator:
        """Fits the method to rows that the classifier was not trained on.

        Parameters
        ----------
        X : (N×C) logits or probabilities
            One value for each row stands for two classes. Where the parameter scores does not say what it is, it is the
            probability of class 1 if all lie in 0…1, with a CalibraWarning, and else a logit. A frame or a table (pandas, Polars, Arrow, DuckDB) whose columns named in
            the parameter features are features, and all others logits. Or an EvalPrediction of Hugging Face.
        y : (N) classes, or (N×C) their probabilities
        features : (N×M), where the method needs them and X does not hold them
        sample_weight : (N)
            Multiplies the loss of each row.
        groups : (N)
            Rows of one group are all fitted or all validated on: whole groups of a tenth of the rows are
            validated on, as by split="paper".
        classes : (C)
            The classes of the columns. Without them they are the columns' names, if the labels are such, the levels of a category, the
            integers, or the labels in the order that fits; where the rows do not tell that, they are asked for.

        Returns
        -------
        Calibrator
            Itself.
        """
        rows = parts(X, features, self.features)
        y = rows.labels if y is None else y
        if y is None:
            raise InputError("fit requires y to be passed, but the target y is None")
        if single(rows.logits) and soft(y) and np.shape(y)[1] > 2:
            raise InputError(f"X has one column and y has {np.shape(y)[1]}: X takes the logits and y the classes, so these may be exchanged")
        one, logits, said = single(rows.logits), columns(rows.logits, scores=self.scores), of_single(rows.logits, self.scores)
        if one and said != self.scores and said == "probabilities":
            warn('X has one value in 0…1 for each row, which is read as the probability of class 1; say scores="probabilities", or scores="logits"')
        classes = classes_of(y, logits, classes, rows.of_logits)
        seed = self._seed()
        words = ["fit", "--seed", plain(seed), "--json"]
        if self.method is not None:
            words += ["--method", self.method]
        split = "paper" if groups is not None and self.split is None else self.split
        if split is not None:
            words += ["--split", split]
        words += _scores(said)
        for name, value in self.get_params().items():
            if "__" in name:
                words += ["--set", f"{name.replace('__', '.')}={plain(value)}"]
        held = {"logits": logits, "labels": numbered(y, classes), "features": rows.features, "weights": sample_weight}
        arrays = _whole(held, groups, split, seed) if groups is not None else {f"cal_{key}": value for key, value in held.items()}
        with working(*arrays.values(), program=self.program) as (worker, folder):
            write(folder / "rows.npz", **arrays)
            self.result_ = json.loads(worker.ask(*words, "--in", folder / "rows.npz", "--out", folder / "run", "--onnx", folder / NETWORK))
            self.run_ = {path.name: path.read_bytes() for path in sorted((folder / "run").iterdir())}
            self._remember()
            self.network_: Network | None = None  # what the command has told why
            if (folder / NETWORK).is_file():
                self.network_ = Network((folder / NETWORK).read_bytes(), self.scores_, self.floor_)
                self.network_.session()  # here, so that the first prediction waits for none
        self.result_.pop("out")
        self.classes_, self.n_features_in_ = classes, 1 if one else logits.shape[1]
        for name in ("feature_names_in_", "told_", "glance_"):
            vars(self).pop(name, None)
        if rows.names is not None:
            self.n_features_in_, self.feature_names_in_ = len(rows.names), np.array(rows.names, dtype=object)
        self.verdict_: judging.Verdict | None = None
        self.fitted_on_ = None if soft(y) else (logits, y, rows.features)
        return self

    def compare(self, X: Rows, y: Rows = None, features: Rows = None, sample_weight: Rows = None, groups: Rows = None, *, classes: Rows = None, methods: typing.Sequence[str] = ("nc",), folds: int = 5) -> judging.Comparison:
        """Whether the method helps, on one labelled set: cross-fitted beside other methods, as calibra compare --folds.

        Every row is predicted by fits to the other folds, and the interval of the verdict counts the rows that these share. This
        calibrator is fitted, or not, as it was; verdict_ keeps the verdict.

        Parameters
        ----------
        X : array of N×C logits or probabilities, or a table
            As for fit.
        y : array of N classes, or N×C of their probabilities
        features : array of N×M, or None
            As for fit.
        sample_weight : array of N numbers, or None
        groups : array of N, or None
            Rows of one group are in one fold, and are one observation.
        classes : array of C, or None
            As for fit.
        methods : names of methods beside this one
            "nc" is the classifier as it is. A Calibrator without a method is compared as the command does by default.
        folds : int

        Returns
        -------
        Comparison

        Examples
        --------
        >>> import localcal, numpy as np
        >>> rng = np.random.default_rng(0)
        >>> y = rng.integers(3, size=300)
        >>> logits = 6 * (np.eye(3)[y] + rng.normal(size=(300, 3)))         # too sure of themselves
        >>> localcal.Calibrator("ts").compare(logits, y, folds=5).verdict.method
        'ts'
        """
        rows = parts(X, features, self.features)
        y = rows.labels if y is None else y
        logits = columns(rows.logits, scores=self.scores)
        words = ["compare", "--folds", plain(folds), "--seeds", plain(self._seed()), "--json", *_scores(of_single(rows.logits, self.scores))]
        if self.method is not None:
            words += ["--methods", ",".join(dict.fromkeys([*methods, self.method]))]
            words += [word for name, value in self.get_params().items() if "__" in name for word in ("--set", f"{self.method}.{name.replace('__', '.')}={plain(value)}")]
        if self.split is not None:
            words += ["--split", self.split]
        if groups is not None:
            words += ["--whole-groups"]
        arrays = {"logits": logits, "labels": numbered(y, classes_of(y, logits, classes, rows.of_logits)), "features": rows.features, "weights": sample_weight, "groups": groups}
        with working(*arrays.values(), program=self.program) as (worker, folder):
            write(folder / "rows.npz", **{f"test_{key}": value for key, value in arrays.items()})
            report = json.loads(worker.ask(*words, "--in", folder / "rows.npz", "--out", folder / "comparison"))
            page = (folder / "comparison" / "report.html").read_text(encoding="utf-8")
        report.pop("out")
        self.verdict_ = judging.Verdict.of(report["verdict"])
        return judging.Comparison(self.verdict_, report["methods"], report, page)

    def __getstate__(self) -> dict[str, typing.Any]:
        """All but the rows of the fit, which predict_sets falls back on, and what was warned of."""
        return {name: value for name, value in vars(self).items() if name not in ("fitted_on_", "told_", "glance_")}

    def predict_proba(self, X: Rows, features: Rows = None) -> Array:
        """Calibrated probabilities.

        Parameters
        ----------
        X : array of N×C logits or probabilities, or a table
            As for fit.
        features : array of N×M, or None
            As for fit.

        Returns
        -------
        array of N×C
        """
        self._fitted()
        return self._calibrated(self._parts(X, features))

    def predict_log_proba(self, X: Rows, features: Rows = None) -> Array:
        """The logarithms of calibrated probabilities.

        Parameters
        ----------
        X : array of N×C logits or probabilities, or a table
            As for fit.
        features : array of N×M, or None
            As for fit.

        Returns
        -------
        array of N×C
        """
        with np.errstate(divide="ignore"):
            return typing.cast(Array, np.log(self.predict_proba(X, features)))

    def predict(self, X: Rows, features: Rows = None) -> Array:
        """The most probable class of each row.

        Parameters
        ----------
        X : array of N×C logits or probabilities, or a table
            As for fit.
        features : array of N×M, or None
            As for fit.

        Returns
        -------
        array of N
        """
        p = self.predict_proba(X, features)
        return typing.cast(Array, self.classes_[np.argmax(p, axis=1)])

    def _calibrated(self, rows: Parts) -> Array:
        logits, features = self._columns(rows.logits), rows.features
        network = self._network()
        read = None if network is None else network.read(logits, self.scores is not None)
        p = None if network is None or read is None else network.probabilities(read, features)
        if p is None or read is None:
            return self._applied(logits, features)["probs"]
        if not self.accept_shift and len(logits) >= FEWEST:
            if features is not None and not plain_rows(features := array(features, "features"), len(read)):
                return self._applied(logits, features)["probs"]  # which refuses them, with a sentence
            unlike = self._glance().unlike(read, features)
            if unlike and (self.accept_shift is not None or not unlike <= self._told()):
                self._applied(logits, features)  # which says what it is, or refuses it
                told = {array for _, array in self._told()}
                self._told().update(found for found in unlike if found[0] in told)
        return p

    def check(self, X: Rows, features: Rows = None) -> Check:
        """Whether rows look like those of the fit. The same rows have the same answer, whatever was predicted before.

        Parameters
        ----------
        X : array of N×C logits or probabilities, or a table
            As for fit.
        features : array of N×M, or None
            As for fit.

        Returns
        -------
        Check
        """
        rows = self._fitted()._parts(X, features)
        _, notes = self._noted(rows.logits, rows.features, "--accept-shift")
        found: dict[str, list[str]] = {kind: [] for kind in KINDS.values()}
        for key, sentence in notes:
            if key in KINDS:
                found[KINDS[key]].append(sentence)
        return Check(len(self._columns(rows.logits)), **found)

    def predict_sets(self, X: Rows, features: Rows = None, *, held_out: tuple[Rows, ...] | None = None, level: float = 0.9) -> Array:
        """Sets of classes that hold the label with this probability, in each region; without features, all rows are one.

        Parameters
        ----------
        X : array of N×C logits or probabilities, or a table
            As for fit.
        features : array of N×M, or None
            As for fit.
        held_out : (logits, y), (logits, y, features) or None
            Of rows that the model was not fitted to. None is the rows of the fit, and a CalibraWarning says that the sets then cover less.
        level : float
            The probability.

        Returns
        -------
        array of N×C truth values
        """
        self._fitted()
        if not 0 < level < 1:
            raise InputError(f"level is {level}; it must lie between 0 and 1")
        rows = self._parts(X, features)
        part = "val" if held_out is not None else "cal"
        if held_out is None and (held_out := vars(self).get("fitted_on_")) is None:
            raise InputError("this Calibrator does not know the rows of its fit, or their labels are soft; hand over held_out=(logits, y, features)")
        if len(held_out) not in (2, 3):
            raise InputError(f"held_out has {len(held_out)} parts; it must be (logits, y) or (logits, y, features)")
        other, y, those = (*held_out, None)[:3]
        apart = self._parts(other, those) if part == "val" else Parts(other, those, None, None, None)
        more = {f"{part}_logits": self._columns(apart.logits), f"{part}_labels": numbered(y, self.classes_), f"{part}_features": apart.features}
        return self._applied(rows.logits, rows.features, f"--sets={level}", **more)["sets"].astype(bool)

    def diagnose(self, X: Rows, y: Rows = None, features: Rows = None, **options: typing.Any) -> judging.Diagnosis:
        """Where the calibrated probabilities are wrong: see localcal.diagnose.

        Parameters
        ----------
        X : array of N×C logits or probabilities, or a table
            As for fit.
        y : array of N classes, or N×C of their probabilities
        features : array of N×M, or None
            As for fit.
        **options
            Of localcal.diagnose.

        Returns
        -------
        Diagnosis
        """
        rows = self._fitted()._parts(X, features)
        return judging.diagnose(self._calibrated(rows), rows.labels if y is None else y, rows.features, classes=self.classes_, **options)

    def evaluate(self, X: Rows, y: Rows = None, features: Rows = None, **options: typing.Any) -> judging.Evaluation:
        """How good the calibrated probabilities are: see localcal.evaluate.

        Parameters
        ----------
        X : array of N×C logits or probabilities, or a table
            As for fit.
        y : array of N classes, or N×C of their probabilities
        features : array of N×M, or None
            As for fit.
        **options
            Of localcal.evaluate.

        Returns
        -------
        Evaluation
        """
        rows = self._fitted()._parts(X, features)
        return judging.evaluate(self._calibrated(rows), rows.labels if y is None else y, rows.features, classes=self.classes_, **options)

    def score(self, X: Rows, y: Rows = None, features: Rows = None, sample_weight: Rows = None) -> float:
        """The share of rows whose most probable class is right; of soft labels, its mean probability by them.

        Parameters
        ----------
        X : array of N×C logits or probabilities, or a table
            As for fit.
        y : array of N classes, or N×C of their probabilities
        features : array of N×M, or None
            As for fit.
        sample_weight : array of N numbers, or None

        Returns
        -------
        float
        """
        rows = self._fitted()._parts(X, features)
        said = np.argmax(self._calibrated(rows), axis=1)
        y = numbered(rows.labels if y is None else y, self.classes_)
        if len(y) != len(said):
            raise InputError(f"y has {len(y)} rows and logits have {len(said)}; they must be of the same rows")
        return float(np.average(y[np.arange(len(y)), said] if soft(y) else y == said, weights=sample_weight))

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes the model into a folder, which calibra apply and Calibrator.load read, in the place of one that is there.

        Parameters
        ----------
        folder : path
        """
        folder = pathlib.Path(folder)
        self._fitted()._unpack(folder)
        for name in FILES:
            if name not in self.run_:
                (folder / name).unlink(missing_ok=True)
        kept = {"params": self.get_params(), "classes": self.classes_.tolist(), "columns": self.n_features_in_, "model": _digest(self.run_["model.safetensors"])}
        if (names := vars(self).get("feature_names_in_")) is not None:
            kept["names"] = names.tolist()
        (folder / "calibrator.json").write_text(json.dumps(kept, default=plain))

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Calibrator:
        """The model that save or calibra fit wrote into a folder; the first prediction makes its network.

        Parameters
        ----------
        folder : path

        Returns
        -------
        Calibrator
        """
        folder = pathlib.Path(folder)
        if not (folder / "model.safetensors").is_file():
            raise InputError(f"{folder} holds no model.safetensors; name a folder that save or calibra fit wrote")
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        kept: dict[str, typing.Any] = {"params": {"method": config["method"], "seed": config["seed"]}, "classes": list(range(config["classes"]))}
        files = {name: (folder / name).read_bytes() for name in FILES if (folder / name).is_file()}
        if (folder / "calibrator.json").is_file():
            saved = json.loads((folder / "calibrator.json").read_text(encoding="utf-8"))
            model = _digest(files["model.safetensors"])
            if saved.get("model", model) == model:  # else calibra fit wrote another model there
                kept = saved
        self = cls(**kept["params"])
        self.run_ = files
        self._remember()
        self.classes_ = np.array(kept["classes"])
        self.n_features_in_ = kept.get("columns", len(self.classes_))
        if "names" in kept:
            self.feature_names_in_ = np.array(kept["names"], dtype=object)
        return self

    @property
    def weights_(self) -> dict[str, Array]:
        """The numbers that were fitted, by their names in the model file."""
        if "run_" not in vars(self):
            raise AttributeError("this Calibrator is not fitted yet; weights_ and temperature_ are there after fit")
        return tensors(self.run_["model.safetensors"], lambda name: not name.startswith(INPUTS))

    @property
    def temperature_(self) -> float:
        """The temperature of a method that has one."""
        weights = self.weights_
        if list(weights) not in (["temperature"], ["temperature/log"]):
            raise AttributeError("temperature_ is there after the fit of a method with one temperature, such as ts; weights_ has the numbers of every method")
        ((name, value),) = weights.items()
        return float(np.exp(value[0]) if name.endswith("log") else value[0])

    def _seed(self) -> int:
        """The seed of a fit; each fit of a RandomState or a Generator draws one."""
        name, said = ("seed", self.seed) if self.random_state is None else ("random_state", self.random_state)
        draw = getattr(said, "integers", None) or getattr(said, "randint", None)
        if not isinstance(said, (int, np.integer)) and draw is None or isinstance(said, (int, np.integer)) and said < 0:
            raise InputError(f"{name} is {said!r}; it must be a whole number of 0 or more")
        if name == "random_state" and self.seed != UNSAID["seed"]:
            raise InputError(f"seed is {self.seed} and random_state is given too; they are two names of one parameter, so leave out one")
        return int(said if draw is None else draw(1 << 31))

    def _parts(self, X: Rows, features: Rows) -> Parts:
        """X as logits and features; a fitted Calibrator takes the columns of a frame by the names of the fit."""
        names = vars(self).get("feature_names_in_")
        said = parts(X, features, self.features, None if names is None else names.tolist())
        if said.features is not None and len(said.features) != len(said.logits):
            raise InputError(f"features has {len(said.features)} rows and logits has {len(said.logits)}; they must be of the same rows")
        return said

    def _applied(self, logits: Rows, features: Rows, *words: str, **more: Rows) -> dict[str, Array]:
        """The arrays that calibra apply writes of these rows; it warns of each cause once."""
        arrays, notes = self._noted(logits, features, *words, *([] if self.accept_shift is False else ["--accept-shift"]), **more)
        for key, sentence in notes:
            cause = (key, "features" if "features" in sentence else "logits")
            if key in KINDS and (cause in self._told() or self.accept_shift and key in ("shift", "drift")):
                continue
            self._told().add(cause)
            if key == "shift":
                sentence += " (accept_shift=True if they are right, accept_shift=False to refuse such rows)"
            warn(sentence)
        return arrays

    def _noted(self, logits: Rows, features: Rows, *words: str, **more: Rows) -> tuple[dict[str, Array], list[tuple[str, str]]]:
        """The arrays that calibra apply writes of these rows, and its warnings, each with its key."""
        self._fitted()
        logits = self._columns(logits)
        with working(logits, features, *more.values(), program=self.program) as (worker, folder):
            self._unpack(folder / "run")
            write(folder / "rows.npz", test_logits=logits, test_features=features, **more)
            printed, warned = worker.hear("apply", "--json", "--model", folder / "run", "--in", folder / "rows.npz", "--out", folder / "said.npz", *words, *_scores(self.scores))
            notes = [(note["key"], sentence) for note in json.loads(printed).get("notes", []) for sentence in warned if spoken(note["text"]) in sentence]
            with np.load(folder / "said.npz") as said:
                return {key: said[key] for key in said.files}, notes

    def _glance(self) -> Glance:
        if not hasattr(self, "glance_"):
            self.glance_ = Glance(self.run_["model.safetensors"])
        return self.glance_

    def _told(self) -> set[tuple[str, str]]:
        """What was warned of since the fit."""
        return typing.cast("set[tuple[str, str]]", vars(self).setdefault("told_", set()))

    def _columns(self, logits: Rows) -> Array:
        """Logits as N×C; one value for each row is what the rows of the fit were."""
        classes, shape = len(self.classes_), np.asarray(logits).shape
        if len(shape) == 1 and classes != 2:
            raise InputError(f"logits has one dimension, which is one value for each row of two classes, and the model has {classes}. Reshape your data to N×{classes}")
        if len(shape) == 2 and shape[1] != classes and not (shape[1] == 1 and classes == 2):
            raise InputError(f"X has {shape[1]} features, but Calibrator is expecting {classes} features as input: a column of logits for each class")
        return columns(logits, scores=self.scores_)

    def _network(self) -> Network | None:
        """The model in this process, made once; None of a method that has no network, whose rows the command predicts."""
        if not hasattr(self, "network_"):
            with _making, working(program=self.program) as (worker, folder):
                if not hasattr(self, "network_"):
                    self._unpack(folder / "run")
                    try:
                        worker.ask("export", "--model", folder / "run", "--onnx", folder / NETWORK, "--numbers", "float64")
                        self.network_ = Network((folder / NETWORK).read_bytes(), self.scores_, self.floor_)
                    except InputError as refused:
                        warn(f"no network is written: {refused}")
                        self.network_ = None
        return self.network_

    def _remember(self) -> None:
        """What the rows of the fit were, and what their probabilities below it were read as, from the model file."""
        known = metadata(self.run_["model.safetensors"])
        self.scores_, self.floor_ = known.get("scores", "logits"), float(known.get("floor", 1e-12))

    def _unpack(self, folder: pathlib.Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in self.run_.items():
            (folder / name).write_bytes(content)

    def _fitted(self) -> Calibrator:
        if not hasattr(self, "run_"):
            raise _unfitted()("this Calibrator is not fitted yet; call fit first")
        return self

    def _repr_html_(self) -> str:
        """What the fit says: the card of a notebook, with the command's page to unfold; scikit-learn's diagram before it."""
        if not self.__sklearn_is_fitted__():
            return super()._repr_html_()
        config, said = json.loads(self.run_["config.json"]), self.result_ if hasattr(self, "result_") else {}
        lines = [said["verdict"]["sentence"], *said["verdict"]["why"]] if "verdict" in said else []
        lines += [said["classifier_kept"]] if "classifier_kept" in said else []
        lines += [spoken(f"{note['text']}.") for note in said.get("notes", [])]
        table = [["candidate", "held-out NLL", "± s.e.", "share"]]
        table += [[m["candidate"], f"{m['nll']:.4f}", f"{m['nll_error']:.4f}", f"{m['share']:.3f}"] for m in said.get("candidates", [])]
        features = f", {config['features']} features" if config["features"] else ""
        title = f"{config['method']}, fitted to {config['calibration_rows']:,} rows of {config['classes']} classes{features}"
        page = self.run_.get("report.html")
        return card(title, lines, table if len(table) > 1 else [], None if page is None else page.decode("utf-8"))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "run_")

    def __sklearn_tags__(self) -> typing.Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(estimator_type="classifier", target_tags=TargetTags(required=True), classifier_tags=ClassifierTags(), input_tags=InputTags())


def _unknown(name: str, program: str | os.PathLike[str] | None) -> str:
    """Why a name is no parameter and no setting, with the nearest that is one; "" where it is. A program of its own has settings of its own."""
    known = [*UNSAID, *Settings.__annotations__]
    if name in known or "__" in name and program is not None:
        return ""
    near = [setting for setting in known if setting.endswith(f"__{name}")] or difflib.get_close_matches(name, known, 1, 0.7)
    if near:
        return f"do you mean {' or '.join(map(repr, near[:4]))}?"
    return f"there are {', '.join(UNSAID)}, and the settings that localcal.settings(method) lists, such as codebook__slots"


def _whole(held: dict[str, Rows], groups: Rows, split: str | None, seed: int) -> dict[str, Rows]:
    """The arrays of all rows as those of two sets, cal and val, of whole groups."""
    if split == "none":
        raise InputError('groups part the rows into those fitted and those validated on, and split="none" validates on none; leave out one of them')
    groups = np.asarray(groups)
    if groups.shape != (count := (len(held["logits"]),)):
        raise InputError(f"groups has the shape {groups.shape}; it must be {count}, one group for each row")
    found, of, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    drawn = np.random.default_rng(seed).permutation(len(found))
    many = int(np.searchsorted(np.cumsum(sizes[drawn]), VALIDATED * len(groups))) + 1
    if many >= len(found):
        raise InputError(f"groups has {len(found)} groups, too few to validate on some and to fit on others; leave them out")
    val = np.isin(of, drawn[:many])
    sets = {"cal": ~val, "val": val}
    return {f"{part}_{key}": np.asanyarray(value)[rows] for part, rows in sets.items() for key, value in held.items() if value is not None}


def _scores(said: str | None) -> list[str]:
    return [] if said is None else ["--scores", said]


def _digest(model: bytes) -> str:
    """Identifies the model that saved classes belong to."""
    return hashlib.sha256(model).hexdigest()


def _unfitted() -> type[Exception]:
    """scikit-learn's error where that is there, which tells by it that an estimator is not fitted."""
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return ValueError
    return typing.cast("type[Exception]", NotFittedError)
