"""Questions about scores: closed forms for labels, generic algorithms from simpler oracles."""
