"""
Ratings: where does the loss come from?
=======================================

Red wines, graded 3 to 8. A grade too high costs three times as much as one too low. The same
probabilities decide differently when they know that.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import concordant as cc

X, y = cc.datasets.load_redwine(return_X_y=True)
ahead = np.subtract.outer(np.arange(6), np.arange(6))  # action less truth
grades = np.arange(3, 9).tolist()
harsh = cc.losses.CostMatrix(np.where(ahead > 0, 3 * ahead, -ahead), actions=grades, labels=grades)

fig, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for ax, loss in zip(axes, ("zero_one", harsh)):
    model = make_pipeline(StandardScaler(), cc.Classifier(loss, "log", C=0.03))
    answers = cross_val_predict(model, X, y)
    cc.plots.CostMapDisplay.from_predictions(y, answers, harsh, ax=ax, numbers="share")
    name = "most probable grade" if loss == "zero_one" else "grade that costs least"
    ax.set_title(f"{name}: {cc.metrics.mean_loss(y, answers, harsh):.2f} a wine")
plt.show()
