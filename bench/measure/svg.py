"""Pictures without a library: panels of bars, of dots and of lines. Their colours follow the reader's
choice of a light or a dark page."""

import dataclasses
import math
from collections.abc import Sequence
from html import escape

CURVES = 6
# Colours by class: light pages first, then what differs on dark ones.
STYLE = """<style>
text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.small { font-size: 10px; } .ours { font-weight: bold; } .title { font-weight: bold; }
.grid { stroke: #d8dee4; } .span { stroke: #8c959f; stroke-width: 2; }
.bar { fill: #a7b4c2; } .bar-ours { fill: #1f6feb; }
.p50 { fill: #57606a; } .p99 { fill: #bf8700; } .longest { fill: #cf222e; }
.c0 { stroke: #1f6feb; fill: #1f6feb; } .c1 { stroke: #bc4c00; fill: #bc4c00; }
.c2 { stroke: #1a7f37; fill: #1a7f37; } .c3 { stroke: #8250df; fill: #8250df; }
.c4 { stroke: #57606a; fill: #57606a; } .c5 { stroke: #7d6608; fill: #7d6608; }
polyline.c0, polyline.c1, polyline.c2, polyline.c3, polyline.c4, polyline.c5 { fill: none; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; }
.grid { stroke: #30363d; } .span { stroke: #6e7681; }
.bar { fill: #545d68; } .bar-ours { fill: #388bfd; }
.p50 { fill: #c9d1d9; } .p99 { fill: #e3b341; } .longest { fill: #ff7b72; }
.c0 { stroke: #58a6ff; fill: #58a6ff; } .c1 { stroke: #ffa657; fill: #ffa657; }
.c2 { stroke: #3fb950; fill: #3fb950; } .c3 { stroke: #bc8cff; fill: #bc8cff; }
.c4 { stroke: #b1bac4; fill: #b1bac4; } .c5 { stroke: #d9c04f; fill: #d9c04f; }
}
</style>"""


def short(value: float) -> str:
    """1234567 as 1.2M; no more digits than one can see in a picture."""
    if value == 0:
        return "0"
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:.3g}{name}"
    return f"{value:.3g}"


def text(x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> str:
    named = f" class='{kind}'" if kind else ""
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}'{named}>{escape(words)}</text>"


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "grid") -> str:
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' class='{kind}'/>"


def box(x: float, y: float, width: float, height: float, kind: str) -> str:
    return (
        f"<rect x='{x:.1f}' y='{y:.1f}' width='{max(width, 0.5):.1f}' height='{height:.1f}'"
        f" class='{kind}'/>"
    )


def dot(x: float, y: float, kind: str, radius: float = 4) -> str:
    return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{radius:g}' class='{kind}'/>"


def document(width: float, height: float, parts: Sequence[str], title: str) -> str:
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0f} {height:.0f}'"
        f" width='{width:.0f}' height='{height:.0f}' role='img' aria-labelledby='title'>"
    )
    return "\n".join([head, f"<title id='title'>{escape(title)}</title>", STYLE, *parts, "</svg>"]) + "\n"


@dataclasses.dataclass
class Scale:
    """Values to places, linear from 0 or logarithmic."""

    low: float
    high: float
    begin: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        if self.logarithmic:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    def ticks(self) -> list[float]:
        if self.logarithmic:
            first = math.ceil(math.log10(self.low) - 1e-9)
            last = math.floor(math.log10(self.high) + 1e-9)
            return [10.0**power for power in range(first, last + 1)]
        step = 10 ** math.floor(math.log10(self.high - self.low))
        while (self.high - self.low) / step < 3:
            step /= 2
        count = int((self.high - self.low) / step + 1e-9)
        return [self.low + step * i for i in range(count + 1)]


def decades(values: Sequence[float]) -> tuple[float, float]:
    """Whole decades around the values."""
    positive = [value for value in values if value > 0] or [1]
    low = 10.0 ** math.floor(math.log10(min(positive)))
    high = 10.0 ** math.ceil(math.log10(max(positive)))
    return low, (high if high > low else low * 10)


@dataclasses.dataclass
class Row:
    """One thing with one value, or with several, the least first."""

    name: str
    values: Sequence[float]
    ours: bool = False


@dataclasses.dataclass
class Panel:
    title: str
    rows: Sequence[Row]


ROW, BAR, NAMES, ROW_WIDTH = 19, 14, 130, 550


def bars(panels: Sequence[Panel], unit: str) -> list[str]:
    """Horizontal bars from 0, a panel below the other, each with a scale of its own."""
    return _stacked(panels, unit, False, _bar)


def dots(panels: Sequence[Panel], unit: str, kinds: dict[str, str]) -> list[str]:
    """A dot for each value, by its place on a scale in powers of ten. `kinds` are class and name of
    the values, in their order."""

    def draw(row: Row, scale: Scale, at: float) -> list[str]:
        places = [scale(value) for value in row.values]
        span = [line(min(places), at + 7, max(places), at + 7, "span")] if len(places) > 1 else []
        return span + [dot(x, at + 7, kind) for x, kind in zip(places, kinds, strict=True)]

    return _stacked(panels, unit, True, draw, kinds)


def _bar(row: Row, scale: "Scale", at: float) -> list[str]:
    kind = "bar-ours" if row.ours else "bar"
    return [box(NAMES, at, scale(row.values[0]) - NAMES, BAR, kind)]


def stacked_document(parts: Sequence[Sequence[str]], title: str) -> str:
    """What bars() and dots() made, one below the other."""
    y, shown = 0.0, []
    for part in parts:
        height, *elements = part
        shown += [f"<g transform='translate(0 {y:.1f})'>", *elements, "</g>"]
        y += float(height)
    return document(NAMES + ROW_WIDTH + 130, y + 4, shown, title)


def _stacked(panels, unit: str, logarithmic: bool, draw, kinds: dict[str, str] | None = None) -> list[str]:
    """Its height, then its elements."""
    parts, y = [], 10.0
    if kinds:
        x = float(NAMES)
        for kind, name in kinds.items():
            parts += [dot(x + 4, y + 4, kind), text(x + 14, y + 8, name)]
            x += 34 + 7 * len(name)
        parts.append(text(x, y + 8, "scale in powers of ten", kind="small"))
        y += 18
    for panel in panels:
        values = [value for row in panel.rows for value in row.values]
        low, high = decades(values) if logarithmic else (0, max([*values, 1e-9]) * 1.02)
        scale = Scale(low, high, NAMES, NAMES + ROW_WIDTH, logarithmic)
        parts.append(text(10, y + 12, f"{panel.title}, {unit}", kind="title"))
        top = y + 22
        y = top + len(panel.rows) * ROW
        for tick in scale.ticks():
            parts.append(line(scale(tick), top, scale(tick), y))
            parts.append(text(scale(tick), y + 12, short(tick), "middle", "small"))
        for i, row in enumerate(panel.rows):
            at = top + i * ROW
            parts.append(text(NAMES - 10, at + 11, row.name, "end", "ours" if row.ours else ""))
            parts += draw(row, scale, at)
            label = " / ".join(short(value) for value in row.values)
            parts.append(text(scale(max(row.values)) + 9, at + 11, label, kind="small"))
        y += 32
    return [f"{y:.1f}", *parts]


@dataclasses.dataclass
class Line:
    name: str
    points: Sequence[tuple[float, float]]


@dataclasses.dataclass
class LinePanel:
    title: str
    x_name: str
    y_name: str
    lines: Sequence[Line]


PLOT_WIDTH, PLOT_HEIGHT, LEFT, PANEL_WIDTH = 330, 200, 60, 430


def lines(panels: Sequence[LinePanel], columns: int = 2) -> str:
    """Both scales logarithmic; panels side by side."""
    parts = []
    most = max(len(panel.lines) for panel in panels)
    panel_height = PLOT_HEIGHT + 82 + 14 * most
    for i, panel in enumerate(panels):
        parts += _plot(panel, (i % columns) * PANEL_WIDTH, (i // columns) * panel_height)
    rows = math.ceil(len(panels) / columns)
    title = "; ".join(f"{panel.title}: {panel.y_name}" for panel in panels)
    return document(PANEL_WIDTH * min(columns, len(panels)), panel_height * rows, parts, title)


def _plot(panel: LinePanel, left: float, top: float) -> list[str]:
    points = [point for one in panel.lines for point in one.points]
    x0, y0 = left + LEFT, top + 44
    x_scale = Scale(*decades([x for x, _ in points]), x0, x0 + PLOT_WIDTH, True)
    y_scale = Scale(*decades([y for _, y in points]), y0 + PLOT_HEIGHT, y0, True)
    parts = [text(left + 10, top + 16, panel.title, kind="title")]
    parts.append(text(left + 10, top + 30, panel.y_name, kind="small"))
    for tick in x_scale.ticks():
        parts.append(line(x_scale(tick), y0, x_scale(tick), y0 + PLOT_HEIGHT))
        parts.append(
            text(x_scale(tick), y0 + PLOT_HEIGHT + 12, short(tick), "middle", "small")
        )
    for tick in y_scale.ticks():
        parts.append(line(x0, y_scale(tick), x0 + PLOT_WIDTH, y_scale(tick)))
        parts.append(text(x0 - 4, y_scale(tick) + 4, short(tick), "end", "small"))
    bottom = y0 + PLOT_HEIGHT + 24
    parts.append(text(x0 + PLOT_WIDTH / 2, bottom, panel.x_name, "middle", "small"))
    for i, one in enumerate(panel.lines):
        kind = f"c{i % CURVES}"
        shown = [(x_scale(x), y_scale(y)) for x, y in one.points if x > 0 and y > 0]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in shown)
        parts.append(f"<polyline points='{path}' class='{kind}' stroke-width='1.5'/>")
        parts += [dot(x, y, kind, 2.5) for x, y in shown]
        at = bottom + 14 * (i + 1)
        parts.append(line(x0, at - 4, x0 + 18, at - 4, kind))
        parts.append(text(x0 + 24, at, one.name))
    return parts
