"""Pictures without a library: panels of bars, and panels of lines."""

import dataclasses
import math
from collections.abc import Sequence
from html import escape

FONT = "font-family='system-ui,sans-serif'"
INK, FAINT, GROUND = "#222", "#ddd", "#fff"
COLOURS = ("#1f5fa8", "#d9822b", "#3a8f4d", "#a23b72", "#6b6b6b", "#8f7a1f")
OURS, OTHERS = "#1f5fa8", "#a9bdd3"


def short(value: float) -> str:
    """1234567 as 1.2M; no more digits than one can see in a picture."""
    if value == 0:
        return "0"
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:.3g}{name}"
    return f"{value:.3g}"


def text(x: float, y: float, words: str, anchor: str = "start", more: str = "") -> str:
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' fill='{INK}' {more}>"
        f"{escape(words)}</text>"
    )


def line(x1: float, y1: float, x2: float, y2: float, colour: str = FAINT, width: float = 1) -> str:
    return (
        f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{colour}'"
        f" stroke-width='{width}'/>"
    )


def box(x: float, y: float, width: float, height: float, colour: str) -> str:
    return (
        f"<rect x='{x:.1f}' y='{y:.1f}' width='{max(width, 0.5):.1f}' height='{height:.1f}'"
        f" fill='{colour}'/>"
    )


def document(width: float, height: float, parts: Sequence[str]) -> str:
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0f} {height:.0f}'"
        f" width='{width:.0f}' height='{height:.0f}' {FONT} font-size='12'>"
    )
    return "\n".join([head, box(0, 0, width, height, GROUND), *parts, "</svg>"]) + "\n"


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
class Bar:
    """One value, or several of one thing, the greatest behind."""

    name: str
    values: Sequence[float]
    ours: bool = False


@dataclasses.dataclass
class BarPanel:
    title: str
    bars: Sequence[Bar]


SHADES = {True: ("#1f5fa8", "#6f9bd0", "#c3d6ec"), False: ("#5f6b76", "#9aa5af", "#d5dbe0")}
BAR, GAP, NAMES, BAR_WIDTH = 14, 5, 120, 560


def bars(panels: Sequence[BarPanel], unit: str, logarithmic: bool = False, note: str = "") -> str:
    """Horizontal bars, a panel below the other, each with a scale of its own."""
    parts, y = [], 10.0
    for panel in panels:
        values = [value for bar in panel.bars for value in bar.values]
        low, high = decades(values) if logarithmic else (0, max([*values, 1e-9]) * 1.02)
        scale = Scale(low, high, NAMES, NAMES + BAR_WIDTH, logarithmic)
        parts.append(text(10, y + 12, f"{panel.title}, {unit}", more="font-weight='bold'"))
        top = y + 22
        y = top + len(panel.bars) * (BAR + GAP)
        for tick in scale.ticks():
            parts.append(line(scale(tick), top, scale(tick), y))
            parts.append(text(scale(tick), y + 12, short(tick), "middle", "font-size='10'"))
        for i, bar in enumerate(panel.bars):
            at = top + i * (BAR + GAP)
            weight = "font-weight='bold'" if bar.ours else ""
            parts.append(text(NAMES - 6, at + 11, bar.name, "end", weight))
            shades = SHADES[bar.ours]
            for value, shade in reversed(list(zip(bar.values, shades, strict=False))):
                parts.append(box(NAMES, at, scale(value) - NAMES, BAR, shade))
            label = " / ".join(short(value) for value in bar.values)
            parts.append(text(scale(max(bar.values)) + 5, at + 11, label, more="font-size='10'"))
        y += 32
    if note:
        parts.append(text(10, y, note, more="font-size='10'"))
        y += 14
    return document(NAMES + BAR_WIDTH + 130, y, parts)


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
    return document(PANEL_WIDTH * min(columns, len(panels)), panel_height * rows, parts)


def _plot(panel: LinePanel, left: float, top: float) -> list[str]:
    points = [point for one in panel.lines for point in one.points]
    x0, y0 = left + LEFT, top + 44
    x_scale = Scale(*decades([x for x, _ in points]), x0, x0 + PLOT_WIDTH, True)
    y_scale = Scale(*decades([y for _, y in points]), y0 + PLOT_HEIGHT, y0, True)
    parts = [text(left + 10, top + 16, panel.title, more="font-weight='bold'")]
    parts.append(text(left + 10, top + 30, panel.y_name, more="font-size='10'"))
    for tick in x_scale.ticks():
        parts.append(line(x_scale(tick), y0, x_scale(tick), y0 + PLOT_HEIGHT))
        parts.append(
            text(x_scale(tick), y0 + PLOT_HEIGHT + 12, short(tick), "middle", "font-size='10'")
        )
    for tick in y_scale.ticks():
        parts.append(line(x0, y_scale(tick), x0 + PLOT_WIDTH, y_scale(tick)))
        parts.append(text(x0 - 4, y_scale(tick) + 4, short(tick), "end", "font-size='10'"))
    bottom = y0 + PLOT_HEIGHT + 24
    parts.append(text(x0 + PLOT_WIDTH / 2, bottom, panel.x_name, "middle", "font-size='10'"))
    for i, one in enumerate(panel.lines):
        colour = COLOURS[i % len(COLOURS)]
        shown = [(x_scale(x), y_scale(y)) for x, y in one.points if x > 0 and y > 0]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in shown)
        parts.append(
            f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='1.5'/>"
        )
        parts += [f"<circle cx='{x:.1f}' cy='{y:.1f}' r='2.5' fill='{colour}'/>" for x, y in shown]
        at = bottom + 14 * (i + 1)
        parts.append(line(x0, at - 4, x0 + 18, at - 4, colour, 2))
        parts.append(text(x0 + 24, at, one.name, more="font-size='11'"))
    return parts
