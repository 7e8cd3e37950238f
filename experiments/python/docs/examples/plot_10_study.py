"""
A study
=======

A study fits methods to data with several seeds, and goes on where it was interrupted. Its results are a table.
"""
import csv
import pathlib
import tempfile

import matplotlib.pyplot as plt

import localcal

with tempfile.TemporaryDirectory() as folder:
    words = ["--data", "digits", "--methods", "nc,ts,sm,vector", "--seeds", "42-44", "--out", folder]
    localcal.run("study", "main", *words)
    with open(pathlib.Path(folder, "results.csv"), newline="") as file:
        cells = list(csv.DictReader(file))

# %%
# A point for each seed: how good the probabilities are, and how far from calibrated.
for method in dict.fromkeys(cell["method"] for cell in cells):
    of = [cell for cell in cells if cell["method"] == method]
    plt.scatter([float(cell["nll"]) for cell in of], [float(cell["ece_top"]) for cell in of], label=method)
plt.xlabel("NLL of test rows")
plt.ylabel("ECE of the top class")
plt.legend()
plt.show()
