"""Pictures for the pages: bars as plain data for `<progress>`, days and scores as small SVG without text or style."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta

from markupsafe import Markup, escape

WIDTH, HEIGHT = 640, 110


def bars(counts: Mapping[str, int]) -> list[tuple[str, int, int]]:
    """Name, count, and the count of the longest bar, which comes first."""
    most = max(counts.values(), default=0)
    return [(name, count, most) for name, count in sorted(counts.items(), key=lambda one: -one[1])]


def timeline(days: Mapping[date, Mapping[str, int]], series: Sequence[str], label: str, last: int = 30) -> Markup:
    """Stacked columns of the last days, one class a series; the page says which days they are."""
    end = max(days, default=date.today())
    span = [end - timedelta(days=back) for back in range(last - 1, -1, -1)]
    most = max((sum(days.get(day, {}).values()) for day in span), default=0) or 1
    step, parts = WIDTH / last, []
    for place, day in enumerate(span):
        base = float(HEIGHT)
        for kind in series:
            count = days.get(day, {}).get(kind, 0)
            height = HEIGHT * count / most
            base -= height
            if count:
                parts.append(
                    f'<rect class="{escape(kind)}" x="{place * step + 1:.1f}" y="{base:.1f}" '
                    f'width="{step - 2:.1f}" height="{height:.1f}"><title>{day}: {count} {escape(kind)}</title></rect>'
                )
    view = f'viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none"'
    return Markup(f'<svg class="plot" {view} role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>')


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
