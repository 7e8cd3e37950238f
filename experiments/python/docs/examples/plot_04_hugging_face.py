"""
Outputs of Hugging Face
=======================

``fit`` takes an ``EvalPrediction`` as it is. Hidden states beside the logits are features.
"""
import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from transformers import EvalPrediction, ViTConfig, ViTForImageClassification

import localcal

torch.manual_seed(0)
torch.set_num_threads(1)
images, y = load_digits(return_X_y=True)
pixels, labels = torch.tensor(images, dtype=torch.float32).reshape(-1, 1, 8, 8) / 8 - 1, torch.tensor(y)
size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
model = ViTForImageClassification(ViTConfig(image_size=8, patch_size=2, num_channels=1, num_labels=10, **size))
optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
for _ in range(25):
    for rows in torch.randperm(700).split(100):
        optimizer.zero_grad()
        model(pixel_values=pixels[rows], labels=labels[rows]).loss.backward()
        optimizer.step()


def predicted(rows):  # as Trainer.predict says it
    with torch.no_grad():
        said = model.eval()(pixel_values=pixels[rows], output_hidden_states=True)
    return EvalPrediction((said.logits.numpy(), tuple(h.numpy() for h in said.hidden_states)), labels[rows].numpy())


calibrator = localcal.Calibrator().fit(predicted(slice(700, 1300)))
test = predicted(slice(1300, None))
before = localcal.evaluate(test.predictions[0], test.label_ids, scores="logits", folds=0)
after = calibrator.evaluate(test, folds=0)
plt.bar(["transformer", "calibrated"], [before["nll"].value, after["nll"].value])
plt.ylabel("NLL of test rows")
plt.show()
