"""Small pictures as SVG text: no library, no inline style, classes that the style sheet colours in light and dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta

from markupsafe import Markup, escape

WIDTH, BAR, GAP = 640, 22, 8


def bars(counts: Mapping[str, int], label: str) -> Markup:
    """Horizontal bars with the value at the end of each."""
    most = max(counts.values(), default=0) or 1
    height = len(counts) * (BAR + GAP)
    parts = []
    for place, (name, count) in enumerate(counts.items()):
        top, length = place * (BAR + GAP), round((WIDTH - 260) * count / most)
        parts.append(
            f'<text class="name" x="190" y="{top + 16}" text-anchor="end">{escape(_short(name))}</text>'
            f'<rect class="bar" x="200" y="{top}" width="{max(length, 2)}" height="{BAR}" rx="4"/>'
            f'<text class="value" x="{208 + max(length, 2)}" y="{top + 16}">{count}</text>'
        )
    return _svg(height, label, parts)


def timeline(days: Mapping[date, Mapping[str, int]], series: Sequence[str], label: str, last: int = 30) -> Markup:
    """Stacked columns of the last days, one class a series."""
    end = max(days, default=date.today())
    span = [end - timedelta(days=back) for back in range(last - 1, -1, -1)]
    most = max((sum(days.get(day, {}).values()) for day in span), default=0) or 1
    step, parts = WIDTH / last, []
    for place, day in enumerate(span):
        base = 120.0
        for kind in series:
            count = days.get(day, {}).get(kind, 0)
            height = 110 * count / most
            base -= height
            if count:
                parts.append(
                    f'<rect class="{escape(kind)}" x="{place * step + 1:.1f}" y="{base:.1f}" '
                    f'width="{step - 2:.1f}" height="{height:.1f}"><title>{day}: {count} {escape(kind)}</title></rect>'
                )
    parts.append(f'<text class="name" x="0" y="138">{span[0]}</text>')
    parts.append(f'<text class="name" x="{WIDTH}" y="138" text-anchor="end">{span[-1]}</text>')
    return _svg(144, label, parts)


def scale(score: float, threshold: float) -> Markup:
    """A score from 0 to 1 beside the threshold."""
    parts = [
        '<rect class="track" x="0" y="4" width="120" height="8" rx="4"/>',
        f'<rect class="bar" x="0" y="4" width="{120 * min(max(score, 0), 1):.1f}" height="8" rx="4"/>',
        f'<rect class="limit" x="{120 * min(max(threshold, 0), 1):.1f}" y="0" width="2" height="16"/>',
    ]
    label = f"score {score:.2f}, threshold {threshold:.2f}"
    return Markup(
        f'<svg class="scale" viewBox="0 0 122 16" role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def _svg(height: int, label: str, parts: Sequence[str]) -> Markup:
    return Markup(
        f'<svg class="plot" viewBox="0 0 {WIDTH} {max(height, 1)}" role="img" aria-label="{escape(label)}">'
        f"{''.join(parts)}</svg>"
    )


def _short(name: str) -> str:
    return name if len(name) <= 26 else f"{name[:25]}…"
