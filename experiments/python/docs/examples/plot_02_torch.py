"""
A network of PyTorch
====================

``localcal.torch`` reads logits, labels and the outputs of a layer, and joins network and calibrator in one module.
"""
import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

import localcal
import localcal.torch

torch.manual_seed(0)
torch.set_num_threads(1)
images, y = load_digits(return_X_y=True)
rows = TensorDataset(torch.tensor(images, dtype=torch.float32) / 16, torch.tensor(y))
train, cal, test = torch.utils.data.random_split(rows, [500, 600, 697])
network = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
optimizer = torch.optim.Adam(network.parameters(), 1e-2)
for _ in range(60):
    for x, label in DataLoader(train, 100, shuffle=True):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(network(x), label).backward()
        optimizer.step()

logits, labels, features = localcal.torch.outputs(network.eval(), DataLoader(cal, 256), layer="1")
calibrator = localcal.Calibrator().fit(logits, labels, features)
calibrated = localcal.torch.Calibrated(network, calibrator, layer="1")

# %%
# The module returns calibrated log-probabilities.
x, label = next(iter(DataLoader(test, len(test))))
with torch.no_grad():
    said = {"network": network(x).log_softmax(1), "calibrated": calibrated(x)}
plt.bar(said.keys(), [torch.nn.functional.nll_loss(p, label).item() for p in said.values()])
plt.ylabel("NLL of test rows")
plt.show()
