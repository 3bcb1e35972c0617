"""
Triage: what is left when doubtful cases are handed over
========================================================

Diagnoses of the spine. Answering all, a model makes some errors; the surer it may be before it
answers, the fewer are left.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import concordant as cc

X, y = cc.datasets.load_vertebral(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)

fig, ax = plt.subplots(layout="constrained")
for route in ("log", "adversarial", "hinge"):
    model = make_pipeline(StandardScaler(), cc.Classifier("zero_one", route, random_state=0))
    cc.plots.CoverageDisplay.from_estimator(model.fit(X, y), X_new, y_new, name=route, ax=ax)
ax.legend()
ax.set_title("share of errors among the answers")

# %%
# With a price for handing over, the model decides itself where to stop.
for cost in (0.05, 0.1, 0.2, 0.3):
    model = make_pipeline(StandardScaler(), cc.Classifier(cc.losses.Abstain(cost=cost), "log"))
    answers = model.fit(X, y).predict(X_new)
    asked = answers == "abstain"
    wrong = (answers != y_new) & ~asked
    print(f"price {cost:4.2f}: hands over {asked.mean():4.0%}, wrong in {wrong.mean():4.0%}")
plt.show()
