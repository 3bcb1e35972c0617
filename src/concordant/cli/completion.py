"""``concordant completion``: the script that makes a shell complete our options."""

from __future__ import annotations

import click

from concordant.cli import options


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@options.debug_option
def completion(shell: str) -> None:
    """Print a completion script for your shell.

    \b
    Examples:
      concordant completion bash >> ~/.bashrc
      concordant completion fish > ~/.config/fish/completions/concordant.fish
    """
    from click.shell_completion import get_completion_class

    from concordant.cli.main import commands

    kind = get_completion_class(shell)
    assert kind is not None
    if shell == "bash":  # its `source` asks bash for its version, which may not be there
        kind._check_version = staticmethod(lambda: None)  # type: ignore[attr-defined]
    click.echo(kind(commands, {}, "concordant", "_CONCORDANT_COMPLETE").source())
