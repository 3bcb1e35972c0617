"""Which route for your data under your loss: the comparison, and the page that shows it."""

from concordant.report.comparison import compare
from concordant.report.page import render, write
from concordant.report.results import Comparison, Outcome
from concordant.report.sequences import compare_sequences

__all__ = ["Comparison", "Outcome", "compare", "compare_sequences", "render", "write"]
