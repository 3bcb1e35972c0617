"""Training on corpora of label sequences: one sentence at a time, in space that stays in cache."""
