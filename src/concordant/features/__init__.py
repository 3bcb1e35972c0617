"""From what users hold to arrays of features: names and values of tokens, CRF++ templates."""

from concordant.features.strings import encode_tokens
from concordant.features.templates import CrfppTemplate

__all__ = ["CrfppTemplate", "encode_tokens"]
