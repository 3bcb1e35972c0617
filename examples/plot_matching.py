"""
Matching: who belongs to whom
=============================

Points seen twice, in different orders and with noise. The model learns from features of pairs what
makes a match, and answers with whole assignments.
"""

import matplotlib.pyplot as plt
import numpy as np

import concordant as cc

X, y = cc.datasets.make_pairs(40, 8, n_features=3, noise=0.6, random_state=0)
model = cc.Matcher(tol=1e-3).fit(X[:30], y[:30])
right = np.mean([np.mean(a == b) for a, b in zip(model.predict(X[30:]), y[30:])])
print(f"right partners in new examples: {right:.0%}; weights {model.coef_.round(2)}")

# %%
# Confidence is a doubly stochastic matrix; rings mark the truth, crosses the answer.
fig, ax = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
display = cc.plots.MatchingDisplay.from_estimator(model, X[30], y[30], ax=ax)
ax.set_xlabel("second view")
ax.set_ylabel("first view")
fig.colorbar(display.image_, label="confidence")
ax.legend(loc="upper center", bbox_to_anchor=(0.5, 1.12), ncols=2, frameon=False)
plt.show()
