"""
Does calibration help?
======================

``compare`` answers on one labelled set: each row is predicted by fits to the other folds.
"""
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

import localcal

X, y = load_digits(return_X_y=True)
X_train, X, y_train, y = train_test_split(X, y, train_size=600, random_state=0)
logits = GaussianNB(var_smoothing=1e-2).fit(X_train, y_train).predict_log_proba(X)

said = localcal.Calibrator("sm").compare(logits, y, methods=["nc", "ts", "vector", "ir"], folds=3)
print(said.verdict)

# %%
# ``nc`` is the classifier as it is.
methods = said.methods[::-1]
plt.barh([method["method"] for method in methods], [method["nll"] for method in methods])
plt.xlabel("NLL of rows that a fit did not see")
plt.show()
