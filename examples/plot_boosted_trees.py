"""
A loss under trees: boosting on a surrogate's gradient
======================================================

Routes are plain functions of scores. Fit regression trees to minus the gradient, and the trees
learn for the loss.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeRegressor

import concordant as cc

X, y = cc.datasets.load_redwine(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)

fig, ax = plt.subplots(layout="constrained")
for loss in ("absolute", "zero_one"):
    scores, new, curve = np.zeros((len(X), 6)), np.zeros((len(X_new), 6)), []
    for _ in range(60):
        values, gradient = cc.surrogates.evaluate("adversarial", scores, y - 3, loss=loss)
        tree = DecisionTreeRegressor(max_depth=5, random_state=0).fit(X, -gradient)
        scores += 0.2 * tree.predict(X)
        new += 0.2 * tree.predict(X_new)
        curve.append(cc.metrics.mean_loss(y_new, 3 + new.argmax(axis=1), "absolute"))
    ax.plot(curve, label=f"trained for {loss}")
ax.set_xlabel("trees")
ax.set_ylabel("mean distance between grades, new wines")
ax.legend()
plt.show()
