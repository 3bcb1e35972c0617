"""Files: sequences."""

from concordant.io.conll import read_conll, write_conll
from concordant.io.crfsuite import read_crfsuite, write_crfsuite

__all__ = ["read_conll", "read_crfsuite", "write_conll", "write_crfsuite"]
