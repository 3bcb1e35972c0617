"""
Robust regression: a loss that forgives outliers
================================================

One target in five is wrong. The squared loss follows the wrong ones; the Cauchy loss does not.
"""

import matplotlib.pyplot as plt
import numpy as np

import concordant as cc

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(-3, 3, 150))[:, None]
truth = np.sin(2 * X[:, 0])
y = truth + 0.1 * rng.normal(size=150)
wrong = rng.random(150) < 0.2
y[wrong] += rng.uniform(1, 4, wrong.sum())

fig, ax = plt.subplots(layout="constrained")
ax.plot(X, y, ".", color="0.6", label="training")
ax.plot(X, truth, color="black", linewidth=1, label="truth")
for name, loss in (("squared", "squared"), ("Cauchy", cc.losses.Cauchy(scale=0.3))):
    model = cc.LossTrickPredictor(loss, kernel="rbf", gamma=2.0, C=10.0).fit(X, y)
    found = model.predict(X)
    ax.plot(X, found, label=f"{name}: mean error {np.abs(found - truth).mean():.2f}")
ax.legend()
plt.show()
