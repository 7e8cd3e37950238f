"""
Where is it wrong?
==================

Half of the digits come from a second scanner, whose images are noisy. ``diagnose`` finds where probabilities are wrong.
"""
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import localcal

X, y = load_digits(return_X_y=True)
X_train, X, y_train, y = train_test_split(X, y, train_size=500, random_state=0)
rng = np.random.default_rng(0)
second = rng.random(len(X)) < 0.5
X = X + second[:, None] * rng.normal(0, 6, X.shape)
scanner = np.where(second, "second scanner", "first scanner")

classifier = LogisticRegression(max_iter=1000).fit(X_train, y_train)
p = classifier.predict_proba(X)
features = np.column_stack([np.abs(np.diff(X)).mean(axis=1), X.mean(axis=1)])  # roughness and darkness of an image
found = localcal.diagnose(p, y, features, groups=scanner)
print(found)

# %%
# What the classifier says of its top class, and the share that is right, for each scanner.
names = np.unique(scanner)
said = [p[scanner == name].max(axis=1).mean() for name in names]
right = [(p.argmax(axis=1) == y)[scanner == name].mean() for name in names]
plt.bar(np.arange(2) - 0.2, said, 0.4, label="said")
plt.bar(np.arange(2) + 0.2, right, 0.4, label="right")
plt.xticks(range(2), names)
plt.legend()
plt.show()
