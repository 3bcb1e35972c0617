"""What can be wrong with a file that somebody else wrote."""

from __future__ import annotations


class ModelFileError(ValueError):
    """The file is no model file, is damaged, or needs a newer version of the library."""


class DataFileError(ValueError):
    """A data file cannot be read, or does not hold what was asked for; says what to do."""
