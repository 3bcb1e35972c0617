"""Files: models, tables, sequences, cost matrices."""

from concordant.io.errors import ModelFileError
from concordant.io.modelfile import describe, load, save
from concordant.io.registry import trusted_types

__all__ = ["ModelFileError", "describe", "load", "save", "trusted_types"]
