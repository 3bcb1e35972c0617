"""
Sequences: what neighbours are worth
====================================

Noisy observations of a chain that likes to stay where it is. A model of single positions cannot
know that; a chain can.
"""

import matplotlib.pyplot as plt
import numpy as np

import concordant as cc

X, y = cc.datasets.make_chains(120, 3, length=(30, 31), n_features=2, stay=0.9, random_state=0)
train, test = slice(0, 80), slice(80, 120)
chain = cc.SequenceLabeler("zero_one", "log").fit(X[train], y[train])
single = cc.Classifier("zero_one", "log").fit(np.vstack(X[train]), np.concatenate(y[train]))

answers = {
    "single positions": [single.predict(x) for x in X[test]],
    "chain": list(chain.predict(X[test])),
}
fig, axes = plt.subplots(3, 1, figsize=(8, 3.4), sharex=True, layout="constrained")
rows = {"truth": y[80]} | {name: found[0] for name, found in answers.items()}
for ax, (name, labels) in zip(axes, rows.items()):
    ax.imshow(np.asarray(labels)[None], aspect="auto", cmap="viridis", vmin=0, vmax=2)
    ax.set_yticks([])
    ax.set_ylabel(name, rotation=0, ha="right", va="center")
for name, found in answers.items():
    wrong = np.mean(np.concatenate(found) != np.concatenate(y[test]))
    print(f"{name}: {wrong:.1%} wrong")
plt.show()
