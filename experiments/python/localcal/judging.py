"""Judges probabilities: how good they are, and where they are wrong."""
from __future__ import annotations

import dataclasses
import html
import json
import pathlib
import typing

from localcal.card import card
from localcal.classes import classes_of, columns, numbered, single
from localcal.command import array, flags, write
from localcal.spoken import called, spoken
from localcal.tables import Rows, column_names, single_column
from localcal.worker import working


@dataclasses.dataclass(frozen=True)
class Floor:
    """The value of a metric for calibrated predictions: labels are redrawn from the predictions.

    Parameters
    ----------
    mean : float
    sd : float
    p95 : float
        The 95th percentile.
    excess : float
        The value minus the mean.
    p_value : float
        The chance of a value as extreme as this one for calibrated predictions.

    Examples
    --------
    >>> import localcal, numpy as np
    >>> y = np.arange(200) % 2

    >>> floor = localcal.evaluate(np.where(y, 0.7, 0.2), y, folds=0)["ece"].floor
    >>> floor.mean < floor.p95 and floor.excess > 0
    True
    """

    mean: float
    sd: float
    p95: float
    excess: float
    p_value: float


@dataclasses.dataclass(frozen=True)
class Metric:
    """A metric with its uncertainty.

    Parameters
    ----------
    value : float
    interval : (float, float) or None
        95 % by the bootstrap, None if there is none.
    floor : Floor or None
        The value for calibrated predictions, None if there is none.

    Examples
    --------
    >>> import localcal, numpy as np
    >>> y = np.arange(200) % 2

    >>> nll = localcal.evaluate(np.where(y, 0.7, 0.2), y, folds=0)["nll"]
    >>> nll.interval[0] < nll.value < nll.interval[1]
    True
    """

    value: float
    interval: tuple[float, float] | None
    floor: Floor | None


@dataclasses.dataclass(frozen=True)
class Decomposition:
    """The parts of a proper score: miscalibration − discrimination + uncertainty. See localcal.metrics.decompose.

    Parameters
    ----------
    miscalibration : Metric
    discrimination : Metric
    uncertainty : Metric

    Examples
    --------
    >>> import localcal, numpy as np
    >>> y = np.arange(200) % 2

    >>> parts = localcal.evaluate(np.where(y, 0.7, 0.2), y, folds=0).decomposition["brier"]
    >>> round(parts.miscalibration.value, 4), round(parts.discrimination.value, 4), parts.uncertainty.value
    (0.13, 0.5, 0.5)
    """

    miscalibration: Metric
    discrimination: Metric
    uncertainty: Metric


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What to do with a classifier: "use" a method, "leave it as it is", "do not use" one, "cannot tell yet", or "check the rows".

    If the classifier is left as it is, the numbers belong to the method that comes nearest to a gain. They are None if nothing was
    compared. str(verdict) is the text.

    Parameters
    ----------
    say : str
    method : str
    difference : float or None
        The change of the NLL by the method.
    low : float or None
        Lower end of its 95 % interval.
    high : float or None
        Upper end of the interval.
    p : float or None
        Of no difference.
    rows_needed : int or None
        About as many as would show the difference, where it cannot be told.
    sentence : str
    why : list of str
        The lines below the sentence.
    commands : list of str
        Calls that do what it says; X and y stand for the logits and labels.
    cause : str
        Of what is wrong: "none", "overall", "region", "group", "class", "label-shift", "method" (the one asked for is worse than the
        classifier), "few-rows" or "other-rows" (than those that they should be).
    where : str
        It is wrong, in words, where that was sought.
    remedy : str
        The commands of a verdict "use" or "cannot tell yet", each in a line.
    notes : list of dict
        What is told of the rows besides, each with a key and a text.

    Examples
    --------
    >>> import localcal, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=600)
    >>> logits = 6 * (np.eye(3)[y] + rng.normal(size=(600, 3)))
    >>> localcal.Calibrator("ts").compare(logits, y).verdict.say
    'use'
    """

    say: str
    method: str
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    rows_needed: int | None
    sentence: str
    why: list[str]
    commands: list[str] = dataclasses.field(default_factory=list)
    cause: str = ""
    where: str = ""
    remedy: str = ""
    notes: list[dict[str, str]] = dataclasses.field(default_factory=list)

    @classmethod
    def of(cls, said: dict[str, typing.Any]) -> Verdict:
        """The verdict as the command prints it in JSON.

        Parameters
        ----------
        said : dict

        Returns
        -------
        Verdict

        Examples
        --------
        >>> import localcal
        >>> said = dict.fromkeys(("difference", "low", "high", "p", "rows_needed"))
        >>> str(localcal.Verdict.of({**said, "say": "cannot tell yet", "method": "", "sentence": "Cannot tell yet.", "why": []}))
        'Cannot tell yet.'
        """
        of = {field.name: said[field.name] for field in dataclasses.fields(cls) if field.name in said}
        of["commands"] = [called(command) for command in of.get("commands", [])]
        of["remedy"] = "\n".join(of["commands"]) if of.get("remedy") else ""
        of["sentence"], of["why"] = spoken(of["sentence"]), [spoken(line) for line in of["why"]]
        of["notes"] = [{**note, "text": spoken(note["text"])} for note in of.get("notes", [])]
        return cls(**of)

    def __str__(self) -> str:
        return "\n".join([self.sentence, *self.why])


class Page:
    """A report that a notebook shows as the command's own page."""

    html: str | None

    def _repr_html_(self) -> str:
        if self.html is None:  # of parts there is no page
            return f"<pre>{html.escape(repr(self))}</pre>"
        return f'<iframe srcdoc="{html.escape(self.html)}" style="width:100%;height:640px;border:0"></iframe>'


@dataclasses.dataclass(frozen=True, repr=False)
class Evaluation(Page):
    """The metrics of probabilities: evaluation["nll"].value, .interval, .floor. A notebook shows the command's page.

    Parameters
    ----------
    rows : int
    classes : int
    metrics : dict of str to Metric
    report : dict
        All that calibra evaluate --json prints.
    html : str or None
        The page.

    Examples
    --------
    >>> import localcal, numpy as np
    >>> y = np.arange(200) % 2

    >>> said = localcal.evaluate(np.where(y, 0.7, 0.2), y)
    >>> said.rows, round(said["brier"].value, 2), said.verdict.say, sorted(said.decomposition)
    (200, 0.13, 'use', ['brier', 'nll'])
    """

    rows: int
    classes: int
    metrics: dict[str, Metric]
    report: dict[str, typing.Any]  # all that calibra evaluate --json prints
    html: str | None

    @property
    def verdict(self) -> Verdict | None:
        """The advice for these probabilities, if there is one."""
        return Verdict.of(self.report["verdict"]) if "verdict" in self.report else None

    @property
    def decomposition(self) -> dict[str, Decomposition]:
        """The parts of the scores "nll" and "brier"."""
        scores = self.report.get("decomposition", {})
        return {score: Decomposition(**{part: metric_of(said) for part, said in parts.items()}) for score, parts in scores.items()}

    def __getitem__(self, metric: str) -> Metric:
        return self.metrics[metric]

    def __repr__(self) -> str:
        lines = [f"{self.rows} rows, {self.classes} classes"]
        for name, m in self.metrics.items():
            interval = "" if m.interval is None else f"  {m.interval[0]:.5f} to {m.interval[1]:.5f}"
            floor = "" if m.floor is None else f"  floor {m.floor.mean:.5f}, p {m.floor.p_value:.3f}"
            lines.append(f"{name:<9}{m.value:9.5f}{interval}{floor}")
        return "\n".join(lines)


@dataclasses.dataclass(frozen=True, repr=False)
class Diagnosis(Page):
    """Where probabilities are wrong. A notebook shows the command's page.

    Parameters
    ----------
    verdict : Verdict
        The advice.
    found : str
        The finding, in a sentence.
    regions : list of dict
    report : dict
        All that calibra diagnose --json prints.
    html : str or None
        The page.

    Examples
    --------
    >>> import localcal, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> features = rng.normal(size=(2000, 2))
    >>> y = (rng.random(2000) < np.where(features[:, 0] > 0, 0.9, 0.5)).astype(int)
    >>> said = localcal.diagnose(np.full(2000, 0.7), y, features, redraws=99)
    >>> said.verdict.say, said.found.startswith("wrong where feature 0")
    ('use', True)
    """

    verdict: Verdict  # what to do
    found: str  # what is wrong
    regions: list[dict[str, typing.Any]]
    report: dict[str, typing.Any]  # all that calibra diagnose --json prints
    html: str | None

    def __repr__(self) -> str:
        return str(self.verdict)


@dataclasses.dataclass(frozen=True, repr=False)
class Comparison:
    """Methods side by side on the same rows. A notebook shows the verdict and the methods, and the command's page to unfold.

    Parameters
    ----------
    verdict : Verdict
        Which to use.
    methods : list of dict
        Of each its metrics, the least NLL first; phi_nll and phi_brier are what it improves on the classifier.
    report : dict
        All that calibra compare --json prints.
    html : str or None
        The page.

    Examples
    --------
    >>> import localcal, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=300)
    >>> logits = 6 * (np.eye(3)[y] + rng.normal(size=(300, 3)))
    >>> said = localcal.Calibrator("ts").compare(logits, y)
    >>> [m["method"] for m in said.methods], said.methods[0]["phi_nll"] > 0
    (['ts', 'nc'], True)
    """

    verdict: Verdict  # which to use
    methods: list[dict[str, typing.Any]]  # of each its metrics, the least NLL first
    report: dict[str, typing.Any]  # all that calibra compare --json prints
    html: str | None

    def __repr__(self) -> str:
        return str(self.verdict)

    def _repr_html_(self) -> str:
        columns = {"method": "method", "nll": "NLL", "accuracy": "accuracy", "ece": "class-wise ECE", "phi_nll": "gain of NLL"}
        table = [list(columns.values())] + [[m["method"], *(f"{m[key]:.4f}" for key in list(columns)[1:])] for m in self.methods]
        return card(self.verdict.sentence, [*self.verdict.why, *(note["text"] for note in self.verdict.notes)], table, self.html)


def evaluate(p: Rows, y: Rows, features: Rows = None, *, sample_weight: Rows = None, classes: Rows = None, groups: Rows = None, **options: typing.Any) -> Evaluation:
    """Measures probabilities.

    Parameters
    ----------
    p : array of N×C probabilities, or N of class 1
    y : array of N classes, or N×C of their probabilities
    features : array of N×M, or None
        The local metrics are measured in their principal components.
    sample_weight : array of N numbers, or None
        Weights of the rows.
    classes : array of C classes, or None
        Classes of the columns; None takes the columns' names, the integers, or the order of names that fits, and asks where the rows do not tell.
    groups : array of N names or numbers, or None
        Each is measured, and the multicalibration error of all.
    **options
        Flags of calibra evaluate: protocol="formula", replicates=1000, seed=1, scores="logits" where p are none.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> import localcal, numpy as np
    >>> y = np.arange(200) % 2

    >>> said = localcal.evaluate(np.where(y, 0.7, 0.2), y)
    >>> round(said["nll"].value, 4), said["ece"].floor.p_value < 0.05
    (0.2899, True)
    """
    with working(p, y, features) as (worker, folder):
        where = written(folder, p, y, features, classes, options.get("scores"), weights=sample_weight, groups=groups)
        printed = worker.ask("evaluate", *where, "--json", "--html", folder / "report.html", *flags(options))
        page = (folder / "report.html").read_text(encoding="utf-8")
    report = json.loads(printed)
    return Evaluation(report["rows"], report["classes"], {name: metric_of(m) for name, m in report["metrics"].items()}, report, page)


def metric_of(said: dict[str, typing.Any]) -> Metric:
    """A metric as the command prints it in JSON."""
    interval = (said["ci"][0], said["ci"][1]) if "ci" in said else None
    return Metric(said["value"], interval, Floor(**said["noise"]) if "noise" in said else None)


def diagnose(p: Rows, y: Rows, features: Rows, *, sample_weight: Rows = None, classes: Rows = None, groups: Rows = None, **options: typing.Any) -> Diagnosis:
    """Says where probabilities are wrong.

    Parameters
    ----------
    p : array of N×C probabilities, or N of class 1
    y : array of N classes, or N×C of their probabilities
    features : array of N×M
        Regions lie in their principal components.
    sample_weight : array of N numbers, or None
        Weights of the rows.
    classes : array of C classes, or None
        Classes of the columns; None takes the columns' names, the integers, or the order of names that fits, and asks where the rows do not tell.
    groups : array of N names or numbers, or None
        They are audited too.
    **options
        Flags of calibra diagnose: rows=100, seed=1, scores="logits" where p are none.

    Returns
    -------
    Diagnosis

    Examples
    --------
    >>> import localcal, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> features = rng.normal(size=(2000, 2))
    >>> y = (rng.random(2000) < np.where(features[:, 0] > 0, 0.9, 0.5)).astype(int)
    >>> len(localcal.diagnose(np.full(2000, 0.7), y, features, redraws=99).regions) > 0
    True
    """
    with working(p, y, features) as (worker, folder):
        where = written(folder, p, y, features, classes, options.get("scores"), weights=sample_weight, groups=groups)
        printed = worker.ask("diagnose", *where, "--json", "--all-rows", "--out", folder / "diagnosis", *flags(options))
        page = (folder / "diagnosis" / "diagnosis.html").read_text(encoding="utf-8")
    report = json.loads(printed)
    return Diagnosis(Verdict.of(report["verdict"]), report["found"], report["regions"], report, page)


def written(folder: pathlib.Path, p: Rows, y: Rows, features: Rows, classes: Rows, scores: str | None, **more: Rows) -> list[str | pathlib.Path]:
    """Writes predictions and features into a folder, and names them as the command takes them."""
    names = column_names(p)
    p = array(single_column(p), "p")
    p = columns(p, "p", scores or ("probabilities" if single(p) else None))
    classes = classes_of(y, p, classes, names)
    write(folder / "predictions.npz", probs=p, labels=numbered(y, classes), **more)
    where: list[str | pathlib.Path] = ["--in", folder / "predictions.npz"]
    if features is not None:
        write(folder / "features.npz", features=features)
        where += ["--features", folder / "features.npz"]
    return where
