"""Small HTML tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(head: str, names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Returns a paragraph and a table. All texts are escaped."""
    columns = "".join(f"<th>{escape(name)}</th>" for name in names)
    lines = "".join(f"<tr>{''.join(f'<td>{escape(str(value))}</td>' for value in row)}</tr>" for row in rows)
    return f"<p>{escape(head)}</p><table><tr>{columns}</tr>{lines}</table>"
