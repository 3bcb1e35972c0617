"""The command line: parse, call the library, print. Heavy imports wait until a command runs."""

from concordant.cli.main import main

__all__ = ["main"]
