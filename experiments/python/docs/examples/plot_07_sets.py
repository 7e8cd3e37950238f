"""
Sets of classes
===============

A set holds the label with the probability that is asked for, whatever the classifier is like.
"""
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

import localcal

X, y = load_digits(return_X_y=True)
X_train, X_rest, y_train, y_rest = train_test_split(X, y, train_size=400, random_state=0)
X_cal, X_rest, y_cal, y_rest = train_test_split(X_rest, y_rest, train_size=400, random_state=0)
X_held, X_test, y_held, y_test = train_test_split(X_rest, y_rest, train_size=500, random_state=0)
logits = GaussianNB(var_smoothing=1e-2).fit(X_train, y_train).predict_log_proba

calibrator = localcal.Calibrator("ts").fit(logits(X_cal), y_cal)
levels = np.array([0.9, 0.92, 0.94, 0.96, 0.98, 0.99])
held_out = (logits(X_held), y_held)
sets = [calibrator.predict_sets(logits(X_test), held_out=held_out, level=level) for level in levels]

# %%
# The share of rows whose set holds the label, and how many classes a set has.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
left.plot(levels, [of[np.arange(len(of)), y_test].mean() for of in sets], "o-")
left.plot(levels, levels, color="grey", linestyle=":")
left.set(xlabel="level", ylabel="share of sets with the label")
right.plot(levels, [of.sum(axis=1).mean() for of in sets], "o-")
right.set(xlabel="level", ylabel="classes in a set")
plt.show()
