"""The reliability of probabilities as numbers and, by matplotlib, as a picture."""

from __future__ import annotations

import csv
import dataclasses
import json
import typing

import numpy as np

from localcal.judging import Metric, metric_of, written
from localcal.tables import Array, Rows
from localcal.worker import working

OURS = "#0b4fa8"  # as report/theme.go has the colours
SHADE = "#c4c4c4"


@dataclasses.dataclass(frozen=True)
class Reliability:
    """How often the top class is right against its probability, as the command's pages show it.

    Parameters
    ----------
    at : array of K
        Probabilities of the top class, ascending.
    frequency : array of K
        The isotonic curve there: how often that class is right.
    low, high : array of K
        Its 95 % interval at each place.
    calibrated_low, calibrated_high : array of K
        Where 95 % of the curves of calibrated predictions lie.
    bins : dict of arrays of B
        "probability", "frequency" and "rows" of bins of about as many rows; "low" and "high", where 95 % of those of
        calibrated predictions lie.
    density : array of P
        The share of the rows in each of P equal parts of 0…1.
    smece : Metric
        The smooth calibration error of the top class, with its interval and its noise floor.

    Examples
    --------
    >>> import numpy as np
    >>> import localcal
    >>> y = np.arange(400) % 2
    >>> said = localcal.reliability(y, np.where(y, 0.7, 0.2))
    >>> said.at.shape == said.frequency.shape, said.smece.floor.p_value < 0.05
    (True, True)
    """

    at: Array
    frequency: Array
    low: Array
    high: Array
    calibrated_low: Array
    calibrated_high: Array
    bins: dict[str, Array]
    density: Array
    smece: Metric


class ReliabilityDisplay:
    """The reliability of probabilities in one picture, that of the command's pages.

    It has the isotonic curve of the top class (CORP) with its 95 % interval, bins of about as many rows, and the grey
    region where 95 % of the curves of calibrated predictions would lie.

    Parameters
    ----------
    reliability : Reliability
    name : str
        In the legend.

    Attributes
    ----------
    ax_, figure_
        Where matplotlib drew it last.

    Examples
    --------
    >>> import numpy as np
    >>> from localcal import ReliabilityDisplay
    >>> y = np.arange(400) % 2
    >>> display = ReliabilityDisplay.from_predictions(y, np.where(y, 0.7, 0.2), name="forest")
    >>> display.ax_.get_xlabel(), display.plot().name
    ('probability of the top class', 'forest')
    """

    ax_: typing.Any
    figure_: typing.Any

    def __init__(self, reliability: Reliability, name: str = "classifier") -> None:
        self.reliability, self.name = reliability, name

    @classmethod
    def from_estimator(
        cls,
        estimator: typing.Any,
        X: Rows,
        y: Rows,
        *,
        sample_weight: Rows = None,
        name: str | None = None,
        ax: typing.Any = None,
    ) -> ReliabilityDisplay:
        """Of the probabilities that a fitted classifier, or a Calibrator, predicts.

        Parameters
        ----------
        estimator : with predict_proba and classes_
        X : what it takes, N rows
        y : array of N classes
        sample_weight : array of N numbers, or None
        name : str or None
            In the legend; None is the name of the class.
        ax : axes of matplotlib, or None for axes of their own

        Returns
        -------
        ReliabilityDisplay

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from sklearn.linear_model import LogisticRegression
        >>> from localcal import ReliabilityDisplay
        >>> X, y = load_digits(return_X_y=True)
        >>> model = LogisticRegression(max_iter=500).fit(X[:900] / 16, y[:900])
        >>> ReliabilityDisplay.from_estimator(model, X[900:] / 16, y[900:]).name
        'LogisticRegression'
        """
        said = estimator.predict_proba(X)
        return cls.from_predictions(
            y,
            said,
            sample_weight=sample_weight,
            classes=estimator.classes_,
            name=name or type(estimator).__name__,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: Rows,
        y_prob: Rows,
        *,
        sample_weight: Rows = None,
        classes: Rows = None,
        scores: str | None = None,
        name: str = "classifier",
        ax: typing.Any = None,
    ) -> ReliabilityDisplay:
        """Of probabilities and labels.

        Parameters
        ----------
        y_true : array of N classes, or N×C of their probabilities
        y_prob : array of N×C probabilities, or N of the second class
        sample_weight : array of N numbers, or None
        classes : array of C classes, or None
            Classes of the columns, as localcal.evaluate takes classes.
        scores : str or None
            What y_prob holds, as localcal.evaluate has it.
        name : str
            In the legend.
        ax : axes of matplotlib, or None for axes of their own

        Returns
        -------
        ReliabilityDisplay
        """
        return cls(reliability(y_true, y_prob, sample_weight=sample_weight, classes=classes, scores=scores), name).plot(
            ax
        )

    def plot(self, ax: typing.Any = None, *, color: str = OURS, floor: bool = True) -> ReliabilityDisplay:
        """Draws it by matplotlib.

        Parameters
        ----------
        ax : axes of matplotlib, or None for axes of their own
        color : of the curve
        floor : bool
            Whether to draw the region of calibrated predictions; of several curves it is the first one's.

        Returns
        -------
        ReliabilityDisplay
            Itself.
        """
        if ax is None:
            from matplotlib import pyplot

            _, ax = pyplot.subplots(figsize=(5, 6), layout="constrained")
        r, beside = self.reliability, ax.has_data()
        once = (lambda text: "_" + text) if beside else str  # what another curve has in the legend is not there twice
        left = np.flatnonzero(r.density)[0] / len(r.density)
        bottom = min(left, *(float(part.min()) for part in (r.low, r.frequency, r.bins["frequency"]) if len(part)))
        if beside:
            left, bottom = min(left, ax.get_xlim()[0]), min(bottom, ax.get_ylim()[0])
        else:
            ax.plot([0, 1], [0, 1], color="#808080", linestyle=(0, (4, 3)), linewidth=0.9, zorder=2)
        if floor and len(r.calibrated_low):
            ax.fill_between(
                r.at,
                r.calibrated_low,
                r.calibrated_high,
                color=SHADE,
                linewidth=0,
                label=once("95 % of the curves of calibrated predictions"),
                zorder=1,
            )
        if len(r.low):
            ax.fill_between(
                r.at,
                r.low,
                r.high,
                color=color,
                alpha=0.17,
                linewidth=0,
                label=once("95 % interval of the curve"),
                zorder=3,
            )
        floors = "" if r.smece.floor is None else f" (if calibrated {r.smece.floor.mean:.4f})"
        ax.plot(
            r.at,
            r.frequency,
            color=color,
            linewidth=1.8,
            label=f"{self.name}: smECE {r.smece.value:.4f}{floors}",
            zorder=4,
        )
        ax.plot(
            r.bins["probability"],
            r.bins["frequency"],
            "o",
            color=color,
            markersize=4.5,
            label=once(f"bins of about {int(r.bins['rows'][0])} rows"),
            zorder=5,
        )
        ax.set(
            xlim=(left, 1),
            ylim=(bottom - 0.02 * (1 - bottom), 1 + 0.02 * (1 - bottom)),
            xlabel="probability of the top class",
            ylabel="frequency",
            title="Reliability of the top class",
        )
        ax.grid(color="#e4e4e4", linewidth=0.6)
        ax.set_axisbelow(True)
        ax.legend(
            fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.11), frameon=False
        )  # below, where no curve is
        self.ax_, self.figure_ = ax, ax.figure
        return self


def calibration_curve(
    y_true: Rows, y_prob: Rows, *, sample_weight: Rows = None, classes: Rows = None, scores: str | None = None
) -> tuple[Array, Array]:
    """How often the top class is right against its probability, by isotonic regression.

    It returns what scikit-learn's calibration_curve does, without bins.

    Parameters
    ----------
    y_true : array of N classes, or N×C of their probabilities
    y_prob : array of N×C probabilities, or N of the second class
    sample_weight : array of N numbers, or None
    classes : array of C classes, or None
        Classes of the columns, as localcal.evaluate takes classes.
    scores : str or None
        What y_prob holds, as localcal.evaluate has it.

    Returns
    -------
    prob_true : array of K
        How often that class is right.
    prob_pred : array of K
        Its probability, ascending. Intervals and bins are in localcal.reliability(…).

    Examples
    --------
    >>> import numpy as np, localcal
    >>> y = np.arange(400) % 2
    >>> true, said = localcal.calibration_curve(y, np.where(y, 0.7, 0.2))
    >>> float(said.min().round(2)), float(said.max().round(2)), float(true.min())
    (0.7, 0.8, 1.0)
    """
    said = reliability(y_true, y_prob, sample_weight=sample_weight, classes=classes, scores=scores)
    return said.frequency, said.at


def reliability(
    y_true: Rows, y_prob: Rows, *, sample_weight: Rows = None, classes: Rows = None, scores: str | None = None
) -> Reliability:
    """How often the top class is right against its probability, with intervals, bins and noise floors.

    Parameters
    ----------
    y_true : array of N classes, or N×C of their probabilities
    y_prob : array of N×C probabilities, or N of the second class
    sample_weight : array of N numbers, or None
    classes : array of C classes, or None
        Classes of the columns, as localcal.evaluate takes classes.
    scores : str or None
        What y_prob holds, as localcal.evaluate has it.

    Returns
    -------
    Reliability

    Examples
    --------
    >>> import numpy as np, localcal
    >>> y = np.arange(400) % 2
    >>> localcal.reliability(y, np.where(y, 0.7, 0.2)).bins["frequency"].tolist()[0]
    1.0
    """
    with working(y_prob, y_true) as (worker, folder):
        where = written(folder, y_prob, y_true, None, classes, scores, weights=sample_weight)
        words = [] if scores is None else ["--scores", scores]
        report = json.loads(
            worker.ask("evaluate", *where, *words, "--folds=0", "--json", "--figures", folder / "figures")
        )
        with (folder / "figures" / "reliability-top.csv").open(newline="", encoding="utf-8") as file:
            parts: dict[str, list[dict[str, str]]] = {}
            for row in csv.DictReader(file):
                parts.setdefault(row["part"].split()[0].strip(","), []).append(row)

    def column(part: str, key: str) -> Array:
        return np.array([float(row[key]) for row in parts.get(part, []) if row[key] != ""])

    bins = {
        name: column("bin", key)
        for name, key in (("probability", "x"), ("frequency", "y"), ("low", "low"), ("high", "high"), ("rows", "rows"))
    }
    return Reliability(
        column("curve", "x"),
        column("curve", "y"),
        column("curve", "low"),
        column("curve", "high"),
        column("curves", "low"),
        column("curves", "high"),
        bins,
        column("share", "y"),
        metric_of(report["smece_top"]),
    )
