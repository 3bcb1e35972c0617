"""Tables of methods against data sets, as Fathony's thesis makes them.

Constants are tuned by two stages of cross-validation on the first random split; then every split
is tested.
"""
