"""
Intervals around probabilities
==============================

With few rows to calibrate on, a probability is known only so well. ``calibra apply --intervals`` says how well.
"""
import pathlib
import tempfile

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import localcal

X, y = load_breast_cancer(return_X_y=True)
X, X_test, y, y_test = train_test_split(X[:, :4], y, train_size=400, random_state=0)
classifier = LogisticRegression(max_iter=5000).fit(X[:150], y[:150])
logits, test_logits = (np.log(classifier.predict_proba(rows)) for rows in (X, X_test))

found = {}
with tempfile.TemporaryDirectory() as folder:
    rows, run, out = (pathlib.Path(folder, name) for name in ("rows.npz", "run", "out.npz"))
    for count in (50, 250):
        cal = slice(150, 150 + count)
        fitted = {"cal_logits": logits[cal], "cal_labels": y[cal], "cal_features": X[cal]}
        np.savez(rows, **fitted, test_logits=test_logits, test_labels=y_test, test_features=X_test)
        localcal.run("fit", "--in", rows, "--method", "vector", "--out", run)
        localcal.run("apply", "--model", run, "--in", rows, "--intervals", 0.9, "--out", out)
        found[count] = dict(np.load(out))

figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for (count, said), ax in zip(found.items(), axes):
    order = np.argsort(said["probs"][:, 1])
    ax.fill_between(range(len(order)), said["lower"][order, 1], said["upper"][order, 1], alpha=0.3)
    ax.plot(said["probs"][order, 1])
    ax.set(title=f"{count} rows to calibrate on", xlabel="test rows in their order", ylabel="probability of class 1")
plt.show()
