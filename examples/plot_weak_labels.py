"""
Weak labels: where is the digit?
================================

Training says which digit an image shows, not where. Boxes: green is the truth, red the window that
the model answers with.
"""

import matplotlib.pyplot as plt
import numpy as np

import concordant as cc

data = cc.datasets.make_cluttered_digits(240, classes=[0, 1], size=24, pieces=2, random_state=0)
train, test = slice(0, 200), slice(200, 240)
model = cc.LatentClassifier(cc.losses.Overlap(), C=0.1, max_iter=20, random_state=0)
model.fit(data.bags[train], data.target[train])
answers = model.predict_latent(data.bags[test])
print(f"right labels: {np.mean([a[0] == t for a, t in zip(answers, data.target[test])]):.0%}")

fig, axes = plt.subplots(2, 4, figsize=(9, 4.8), layout="constrained")
for ax, i in zip(axes.flat, range(200, 240)):
    place = {"image": data.images[i], "truth": data.latent[i], "ax": ax}
    cc.plots.PlaceDisplay.from_estimator(model, data.bags[i], **place)
    ax.set_title(f"a {data.target[i]}, answered {answers[i - 200][0]}")
plt.show()
