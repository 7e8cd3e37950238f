"""The calibrator as an estimator."""
import hashlib
import json
import pathlib
import warnings

import numpy as np

from calibra import judging
from calibra.classes import classes_of, columns, numbered, single, soft
from calibra.command import CalibraWarning, InputError, plain, run, scratch, write
from calibra.network import Network

# What a run may have, of which save leaves none of an earlier one.
FILES = ("config.json", "curves.csv", "embedding.npz", "manifest.json", "metrics.json", "model.safetensors", "predictions.npz", "report.html")

# The first batch of so many rows, or some of them, is shown to the command, which refuses columns
# that are scaled or ordered otherwise than those of the fit.
LOOKED = (30, 4096)


class Calibrator:
    """Calibrates a classifier's probabilities by a method of calibra.

    method    what to fit: "stacked", "vq", "ts", or another that `calibra methods --all` lists
    split     where validation rows come from: "paper", "none"; None is the method's own
    seed      of split, initial weights and batches
    settings  of the method, as `calibra methods NAME` lists them, "__" in the place of the
              dot: codebook__slots=16, optim__rate=3e-4

    Fitted on rows that the classifier was not trained on. classes_ are those of y, run_ is
    what calibra fit wrote: the bytes of its files by their names. Predictions are made in this
    process by ONNX Runtime, and are those of calibra apply within 1e-6; of methods that have no
    network (kc, pc, dac) the command makes them. The command looks at the first batch of rows too,
    and refuses columns that are scaled or ordered otherwise than those of the fit.
    """

    def __init__(self, method="stacked", *, split=None, seed=0, **settings):
        self.method, self.split, self.seed = method, split, seed
        for name, value in settings.items():
            setattr(self, name.replace(".", "__"), value)

    def get_params(self, deep=True):
        return {name: value for name, value in vars(self).items() if not name.endswith("_")}

    def set_params(self, **params):
        for name, value in params.items():
            name = name.replace(".", "__")
            if name not in ("method", "split", "seed") and "__" not in name:
                raise ValueError(f"{name} is no parameter of a Calibrator: there are method, split, seed, and settings such as codebook__slots")
            setattr(self, name, value)
        return self

    def __repr__(self):
        given = [f"{name}={value!r}" for name, value in self.get_params().items() if (name, value) not in (("split", None), ("seed", 0))]
        return f"Calibrator({', '.join(given)})"

    def fit(self, logits, y, features=None, sample_weight=None):
        """Fits the method to logits (N×C), labels y (N) and, where it needs them, features (N×M).

        One value for each row stands for two classes: the probability of class 1 where all lie in
        0…1, else a score. y may be soft: the probabilities of the classes (N×C). sample_weight (N)
        multiplies the loss of each row.
        """
        if y is None:
            raise InputError("requires y to be passed, but the target y is None")
        one, logits = single(logits), columns(logits)
        classes = classes_of(y, logits.shape[1])
        words = ["fit", "--method", self.method, "--seed", plain(self.seed), "--json"]
        if self.split is not None:
            words += ["--split", self.split]
        for name, value in self.get_params().items():
            if "__" in name:
                words += ["--set", f"{name.replace('__', '.')}={plain(value)}"]
        with scratch() as folder:
            write(folder / "rows.npz", cal_logits=logits, cal_labels=numbered(y, classes), cal_features=features, cal_weights=sample_weight)
            self.result_ = json.loads(run(*words, "--in", folder / "rows.npz", "--out", folder / "run", within=folder))
            self.run_ = {path.name: path.read_bytes() for path in sorted((folder / "run").iterdir())}
            self.probabilities_ = self.result_.get("logits") == "probabilities"
            self.network_ = _network(folder / "run", self.probabilities_)
        self.result_.pop("out")
        self.classes_, self.n_features_in_ = classes, 1 if one else logits.shape[1]
        self.fitted_on_ = None if soft(y) else (logits, y, features)
        return self

    def __getstate__(self):
        """All but the rows of the fit, which predict_sets falls back on."""
        return {name: value for name, value in vars(self).items() if name != "fitted_on_"}

    def predict_proba(self, logits, features=None):
        """Calibrated probabilities (N×C)."""
        self._fitted()
        logits = self._columns(logits)
        if self.network_ is None:
            return self._applied(logits, features)["probs"]
        if not self.network_.looked and len(logits) >= LOOKED[0]:
            some = np.sort(np.random.default_rng(0).choice(len(logits), min(len(logits), LOOKED[1]), replace=False))
            self._applied(logits[some], None if features is None else np.asanyarray(features)[some])
            self.network_.looked = True
        p = self.network_.probabilities(logits, features)
        return self._applied(logits, features)["probs"] if p is None else p

    def predict(self, logits, features=None):
        """The most probable class of each row."""
        p = self.predict_proba(logits, features)
        return self.classes_[np.argmax(p, axis=1)]

    def predict_sets(self, logits, features, *, held_out=None, level=0.9):
        """Sets of classes (N×C truth values) that hold the label with this probability, in each region.

        held_out is (logits, y, features) of rows that the model was not fitted to. Without it the
        rows of the fit stand for them, and a CalibraWarning says that the sets then cover less.
        """
        self._fitted()
        part = "val" if held_out is not None else "cal"
        if held_out is None and (held_out := vars(self).get("fitted_on_")) is None:
            raise InputError("this Calibrator does not know the rows of its fit, or their labels are soft; hand over held_out=(logits, y, features)")
        other, y, those = held_out
        rows = {f"{part}_logits": self._columns(other), f"{part}_labels": numbered(y, self.classes_), f"{part}_features": those}
        return self._applied(logits, features, f"--sets={level}", **rows)["sets"].astype(bool)

    def diagnose(self, logits, y, features, **options):
        """Where the calibrated probabilities are wrong: see calibra.diagnose."""
        return judging.diagnose(self.predict_proba(logits, features), y, features, classes=self.classes_, **options)

    def evaluate(self, logits, y, features=None, **options):
        """How good the calibrated probabilities are: see calibra.evaluate."""
        return judging.evaluate(self.predict_proba(logits, features), y, features, classes=self.classes_, **options)

    def score(self, logits, y, features=None):
        """The share of rows whose most probable class is right; of soft labels, its mean probability by them."""
        said = np.argmax(self.predict_proba(logits, features), axis=1)
        y = numbered(y, self.classes_)
        if len(y) != len(said):
            raise InputError(f"y has {len(y)} rows and logits have {len(said)}; they must be of the same rows")
        if not soft(y) and (strange := y[~np.isin(y, np.arange(len(self.classes_)))]).size:
            raise InputError(f"y holds {strange[0]}, which is none of the classes {self.classes_.tolist()[:10]}")
        return float(np.mean(y[np.arange(len(y)), said] if soft(y) else y == said))

    def save(self, folder):
        """Writes the model into a folder, which calibra apply and Calibrator.load read, in the place of one that is there."""
        folder = pathlib.Path(folder)
        self._fitted()._unpack(folder)
        for name in FILES:
            if name not in self.run_:
                (folder / name).unlink(missing_ok=True)
        kept = {"params": self.get_params(), "classes": self.classes_.tolist(), "probabilities": self.probabilities_, "columns": self.n_features_in_, "model": _digest(self.run_["model.safetensors"])}
        (folder / "calibrator.json").write_text(json.dumps(kept, default=plain))

    @classmethod
    def load(cls, folder):
        """The model that save or calibra fit wrote into a folder."""
        folder = pathlib.Path(folder)
        if not (folder / "model.safetensors").is_file():
            raise InputError(f"{folder}: holds no model.safetensors; name a folder that save or calibra fit wrote")
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        kept = {"params": {"method": config["method"], "seed": config["seed"]}, "classes": list(range(config["classes"]))}
        run = {name: (folder / name).read_bytes() for name in FILES if (folder / name).is_file()}
        if (folder / "calibrator.json").is_file():
            saved = json.loads((folder / "calibrator.json").read_text(encoding="utf-8"))
            model = _digest(run["model.safetensors"])
            if saved.get("model", model) == model:  # else calibra fit wrote another model there
                kept = saved
        self = cls(**kept["params"])
        self.run_, self.probabilities_ = run, kept.get("probabilities")
        self.classes_ = np.array(kept["classes"])
        self.n_features_in_ = kept.get("columns", len(self.classes_))
        self.network_ = _network(folder, self.probabilities_)
        return self

    def _applied(self, logits, features, *words, **more):
        """The arrays that calibra apply writes of these rows."""
        self._fitted()
        logits = self._columns(logits)
        with scratch() as folder:
            self._unpack(folder / "run")
            write(folder / "rows.npz", test_logits=logits, test_features=features, **more)
            run("apply", "--model", folder / "run", "--in", folder / "rows.npz", "--out", folder / "said.npz", *words, within=folder)
            with np.load(folder / "said.npz") as said:
                return {key: said[key] for key in said.files}

    def _columns(self, logits):
        """Logits as N×C; one value for each row is a probability where the fit's were."""
        classes, shape = len(self.classes_), np.asarray(logits).shape
        if len(shape) == 1 and classes != 2:
            raise InputError(f"logits has one dimension, which is one value for each row of two classes, and the model has {classes}. Reshape your data to N×{classes}")
        if len(shape) == 2 and shape[1] not in (classes, self.n_features_in_):
            raise InputError(f"X has {shape[1]} features, but Calibrator is expecting {self.n_features_in_} features as input: a column of logits for each class")
        return columns(logits, probabilities=self.probabilities_)

    def _unpack(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in self.run_.items():
            (folder / name).write_bytes(content)

    def _fitted(self):
        if not hasattr(self, "run_"):
            raise _unfitted()("this Calibrator is not fitted yet; call fit first")
        return self

    def __sklearn_is_fitted__(self):
        return hasattr(self, "run_")

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(estimator_type="classifier", target_tags=TargetTags(required=True), classifier_tags=ClassifierTags(), input_tags=InputTags())


def _digest(model):
    """Identifies the model that saved classes belong to."""
    return hashlib.sha256(model).hexdigest()


def _unfitted():
    """scikit-learn's error where that is there, which tells by it that an estimator is not fitted."""
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return ValueError
    return NotFittedError


def _network(model, probabilities):
    """The model of a folder in this process; None of a method that has no network, which a warning says."""
    try:
        return Network.of(model, probabilities)
    except InputError as refused:
        warnings.warn(f"{refused}; predictions start the command, which takes longer", CalibraWarning, stacklevel=3)
        return None
