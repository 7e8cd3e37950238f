"""Answers as a cell of a notebook shows them."""

from __future__ import annotations

import html
import typing

STYLE = (
    "font-family:system-ui,sans-serif;font-size:14px;line-height:1.45;max-width:46em;padding:.7em 1em;"
    "border:1px solid #8884;border-left:4px solid #0b4fa8;border-radius:4px"
)
CELL = "padding:.1em .8em .1em 0;text-align:"


def card(
    title: str, lines: typing.Sequence[str], table: typing.Sequence[typing.Sequence[str]] = (), page: str | None = None
) -> str:
    """An answer as HTML: a title, sentences, a table whose first row is its head, and the command's page to unfold."""
    escape = html.escape
    parts = [
        f'<div style="{STYLE}"><strong>{escape(title)}</strong>',
        *(f'<div style="margin-top:.35em">{escape(line)}</div>' for line in lines),
    ]
    if table:
        parts.append('<table style="margin-top:.6em;border-collapse:collapse;font-size:inherit">')
        for k, row in enumerate(table):
            cell = "td" if k else "th"
            sides = ["left"] + ["right"] * (len(row) - 1)
            cells = (f'<{cell} style="{CELL}{side}">{escape(text)}</{cell}>' for side, text in zip(sides, row))
            parts.append("<tr>" + "".join(cells) + "</tr>")
        parts.append("</table>")
    if page is not None:
        frame = f'<iframe srcdoc="{escape(page)}" style="width:100%;height:640px;border:0"></iframe>'
        parts.append(f'<details style="margin-top:.6em"><summary>The whole page</summary>{frame}</details>')
    return "".join(parts) + "</div>"
