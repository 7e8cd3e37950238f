"""
A first calibration
===================

Naive Bayes is far too sure of itself on handwritten digits. A calibrator learns from rows that it was not trained on.
"""
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

import localcal

X, y = load_digits(return_X_y=True)
X_train, X_rest, y_train, y_rest = train_test_split(X, y, train_size=600, random_state=0)
X_cal, X_test, y_cal, y_test = train_test_split(X_rest, y_rest, train_size=600, random_state=0)

classifier = GaussianNB(var_smoothing=1e-2).fit(X_train, y_train)
logits = classifier.predict_log_proba(X_test)
calibrator = localcal.Calibrator("ts").fit(classifier.predict_log_proba(X_cal), y_cal)
print(f"The temperature is {calibrator.temperature_:.1f}.")

# %%
# Of the rows that are said to be right with some probability, so many are. On the diagonal the two are the same.


def draw(p, label):
    top, right = p.max(axis=1), p.argmax(axis=1) == y_test
    parts = np.array_split(np.argsort(top), 8)
    plt.plot([top[rows].mean() for rows in parts], [right[rows].mean() for rows in parts], "o-", label=label)


draw(np.exp(logits), "naive Bayes")
draw(calibrator.predict_proba(logits), "calibrated")
plt.plot([0, 1], [0, 1], color="grey", linestyle=":")
plt.xlabel("probability of the top class")
plt.ylabel("share of rows that are right")
plt.legend()
plt.show()
