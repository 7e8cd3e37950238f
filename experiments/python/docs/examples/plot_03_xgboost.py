"""
Trees of XGBoost
================

The margins of the trees are logits, and the columns that they were grown on are the features.
"""
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from xgboost import XGBClassifier

import localcal

X, y = load_digits(return_X_y=True)
X_train, X_rest, y_train, y_rest = train_test_split(X, y, train_size=400, random_state=0)
X_cal, X_test, y_cal, y_test = train_test_split(X_rest, y_rest, train_size=700, random_state=0)
trees = XGBClassifier(n_estimators=60, max_depth=3, random_state=0).fit(X_train, y_train)


def margins(X):
    return trees.predict(X, output_margin=True)


calibrator = localcal.Calibrator(scores="logits").fit(margins(X_cal), y_cal, features=X_cal)
before = localcal.evaluate(trees.predict_proba(X_test), y_test, folds=0)
after = calibrator.evaluate(margins(X_test), y_test, features=X_test, folds=0)

# %%
# The negative log-likelihood (NLL) of rows that neither saw, with its interval.
for name, said in (("XGBoost", before["nll"]), ("calibrated", after["nll"])):
    low, high = said.interval
    plt.errorbar(name, said.value, [[said.value - low], [high - said.value]], fmt="o", capsize=6)
plt.ylabel("NLL of test rows")
plt.margins(x=0.5)
plt.ylim(0)
plt.show()
