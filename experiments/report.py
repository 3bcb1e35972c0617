"""Tables and sections of ``docs/reproduction.md``, as Markdown."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Table:
    """A table of text; the first column is aligned left, the others right."""

    caption: str
    header: list[str]
    rows: list[list[str]]

    def text(self) -> str:
        columns = zip(self.header, *self.rows, strict=True)
        widths = [max(len(cell) for cell in column) for column in columns]
        rule = ["-" * widths[0]] + ["-" * max(width - 1, 1) + ":" for width in widths[1:]]
        lines = [self._line(cells, widths) for cells in (self.header, rule, *self.rows)]
        return f"{self.caption}\n\n" + "\n".join(lines)

    @staticmethod
    def _line(cells: list[str], widths: list[int]) -> str:
        padded = [cells[0].ljust(widths[0])]
        padded += [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
        return "| " + " | ".join(padded) + " |"


@dataclass
class Report:
    """What an experiment found."""

    title: str
    command: str
    published: str
    method: str
    tables: list[Table]
    findings: list[str]
    figures: list[Path]

    def text(self, figures_from: Path | None = None) -> str:
        """Markdown; figures are linked relative to `figures_from`, or only named."""
        parts = [f"## {self.title}", f"`{self.command}`", f"**Published.** {self.published}"]
        parts.append(f"**Here.** {self.method}")
        parts += [table.text() for table in self.tables]
        parts.append("**Against the published values.** " + " ".join(self.findings))
        for figure in self.figures:
            if figures_from is None:
                parts.append(f"Figure: {figure}")
            else:
                link = Path(os.path.relpath(figure, figures_from)).as_posix()
                parts.append(f"![{self.title}]({link})")
        return "\n\n".join(parts) + "\n"
