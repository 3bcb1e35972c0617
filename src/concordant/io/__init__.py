"""Files: models, tables, sequences, cost matrices."""

from concordant.io.conll import read_conll, write_conll
from concordant.io.crfsuite import read_crfsuite, write_crfsuite
from concordant.io.errors import ModelFileError
from concordant.io.modelfile import describe, load, save
from concordant.io.registry import trusted_types

__all__ = [
    "ModelFileError",
    "describe",
    "load",
    "read_conll",
    "read_crfsuite",
    "save",
    "trusted_types",
    "write_conll",
    "write_crfsuite",
]
