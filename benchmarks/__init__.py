"""Speed and memory, side by side with the named peers in one run: ``make bench``."""
