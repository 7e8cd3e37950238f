"""README's picture: by how much methods change the NLL of the classifier, with Student's 95 % intervals over the seeds.

    python experiments/results/gain.py experiments/results/protocol.csv experiments/results/gain.svg
"""
import csv
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams |= {"svg.hashsalt": "gain", "font.size": 10, "svg.fonttype": "none", "font.sans-serif": ["Helvetica", "Arial", "DejaVu Sans"]}
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import t

GREY = "#808080"  # at least 3.9 : 1 on white, and 4.7 : 1 on #0d1117
METHODS = [("ts", "ts, one temperature", "o", "#808080", 5), ("vq", "vq, the paper's", "s", "#c77d00", 5),
           ("corrected x 5", "corrected × 5", "D", "#2f8f6b", 5), ("pool", "pool, recommended", "o", "#2f7fdb", 8)]


def changes(path):
    """{source: {method: by seed, the mean over views of the log-ratio to the classifier}}"""
    with open(path, newline="") as f:
        nll = {(l["source"], l["view"], l["seed"], l["method"]): float(l["nll"]) for l in csv.DictReader(f) if l["part"] == "main"}
    out = {}
    for (source, view, seed, method), value in nll.items():
        by_seed = out.setdefault(source, {}).setdefault(method, {})
        by_seed.setdefault(seed, []).append(np.log(value / nll[source, view, seed, "nc"]))
    return {source: {m: np.array([np.mean(v) for v in seeds.values()]) for m, seeds in of.items()} for source, of in out.items()}


def draw(found, out):
    order = sorted(found, key=lambda source: -found[source]["pool"].mean())
    figure, axes = plt.subplots(figsize=(8, 4.4))
    for at, source in enumerate(order):
        for shift, (method, label, marker, color, size) in zip((0.27, 0.09, -0.09, -0.27), METHODS):
            r = found[source][method]
            half = t.ppf(0.975, len(r) - 1) * r.std(ddof=1) / len(r) ** 0.5
            low, mean, high = 100 * np.expm1([r.mean() - half, r.mean(), r.mean() + half])
            axes.plot([low, high], [at + shift] * 2, color=color, lw=size / 4, solid_capstyle="butt")
            axes.plot(mean, at + shift, marker, color=color, ms=size, label=label if at == 0 else None)
    axes.axvline(0, color=GREY, lw=1)
    axes.set_yticks(range(len(order)), order)
    axes.set_xlabel("change of NLL, in % of the classifier's")
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:.0f}".replace("-", "−"))
    axes.tick_params(colors=GREY, length=0)
    axes.xaxis.label.set_color(GREY)
    axes.grid(axis="x", color=GREY, alpha=0.25)
    for side in axes.spines.values():
        side.set_visible(False)
    figure.legend(loc="upper center", ncols=4, frameon=False, labelcolor=GREY, handletextpad=0.3)
    figure.subplots_adjust(left=0.11, right=0.98, top=0.91, bottom=0.12)
    figure.savefig(out, transparent=True, metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    draw(changes(sys.argv[1]), sys.argv[2])
