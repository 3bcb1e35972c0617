"""The published tables and figures, each by one command; see `python -m experiments --help`."""
