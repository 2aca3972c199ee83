"""Draws docs/grafana/colock.json from recorded numbers, for tools/pictures: its panels in its grid."""

import html
import itertools
import math

CELL_X, CELL_Y, GAP = 42, 26, 8  # pixels of a cell of the grid, and between two panels
HEAD = 34  # above the panels
LEFT, RIGHT, TOP, BOTTOM = 68, 22, 36, 32  # from the border of a panel to its plot and legend
ROW = 17  # of a legend
TICKS = 5  # at most so many steps of the vertical axis
MINUTE = 60

STYLE = """  <style>
    text { font: 12px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #57606a; }
    .head { font-size: 13px; font-weight: 600; fill: #1f2328; } .number { text-anchor: end; }
    .middle { text-anchor: middle; } .panel { fill: #ffffff; stroke: #d0d7de; } .page { fill: #f6f8fa; }
    .grid { stroke: #eaeef2; } .event { fill: #afb8c1; fill-opacity: .3; }
    .line { fill: none; stroke-width: 1.5; stroke-linejoin: round; stroke-linecap: round; }
    .c0 { stroke: #0969da; } .c1 { stroke: #bc4c00; } .c2 { stroke: #1a7f37; } .c3 { stroke: #8250df; }
    .key { stroke-width: 3; } .c3 { stroke-dasharray: 3 5; }
    @media (prefers-color-scheme: dark) {
      text { fill: #9198a1; } .head { fill: #e6edf3; } .panel { fill: #161b22; stroke: #30363d; }
      .page { fill: #0d1117; } .grid { stroke: #262c36; } .event { fill: #6e7681; fill-opacity: .3; }
      .c0 { stroke: #58a6ff; } .c1 { stroke: #f0883e; } .c2 { stroke: #3fb950; } .c3 { stroke: #bc8cff; }
    }
  </style>
"""

Values = list[float | None]


def rounded(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


def text(x: float, y: float, words: str, kind: str = "") -> str:
    of = f' class="{kind}"' if kind else ""
    return f'  <text{of} x="{rounded(x)}" y="{rounded(y)}">{html.escape(words)}</text>\n'


def width_of(words: str) -> float:
    return 6.4 * len(words)


def step_of(highest: float) -> float:
    """Between two marks of an axis up to there: 1, 2 or 5 times a power of ten."""
    least = highest / TICKS
    power = 10.0 ** math.floor(math.log10(least))
    return next(round(n * power, 12) for n in (1, 2, 5, 10) if n * power >= least * 0.999)


def with_unit(value: float, unit: str) -> str:
    if unit == "s" and 0 < value < 1:
        return f"{value * 1000:g} ms"
    return f"{value:g}" + {"s": " s", "ops": " ops/s", "short": ""}[unit]


def clock(seconds: float) -> str:
    return f"{int(seconds) // MINUTE}:{int(seconds) % MINUTE:02}"


class Panel:
    """One panel: where its plot is, and what a value and a second are in pixels."""

    def __init__(self, panel: dict, recorded: dict) -> None:
        self.panel = panel
        self.recorded = recorded
        self.lines = [line for target in panel["targets"] for line in recorded["lines"][target["expr"]]]
        at = panel["gridPos"]
        self.x, self.y = GAP + at["x"] * CELL_X, HEAD + at["y"] * CELL_Y
        self.width, self.height = at["w"] * CELL_X - GAP, at["h"] * CELL_Y - GAP
        self.left, self.right = self.x + LEFT, self.x + self.width - RIGHT
        self.names = self.placed_names()
        self.top, self.bottom = self.y + TOP, self.y + self.height - BOTTOM - ROW * self.names[-1][1]
        self.seconds = max(len(line["values"]) - 1 for line in self.lines) * recorded["step"]
        known = [v for line in self.lines for v in line["values"] if v is not None]
        self.step = step_of(max(known) or 1)
        self.ticks = math.ceil(max(known) / self.step - 0.001) or 1

    def across(self, second: float) -> float:
        return self.left + (self.right - self.left) * second / self.seconds

    def up(self, value: float) -> float:
        return self.bottom - (self.bottom - self.top) * value / (self.step * self.ticks)

    def path(self, values: Values) -> str:
        """A gap where there is no value; a dot where there is one alone."""
        words = []
        for known, run in itertools.groupby(enumerate(values), lambda each: each[1] is not None):
            if known:
                points = [f"{rounded(self.across(at * self.recorded['step']))} {rounded(self.up(v))}"
                          for at, v in run]
                words.append("M" + "L".join(points) + ("h0" if len(points) == 1 else ""))
        return "".join(words)

    def events(self) -> str:
        body = ""
        for number, (_, begin, end) in enumerate(self.recorded["events"], 1):
            x, width = self.across(begin), max(2, self.across(end) - self.across(begin))
            body += (f'  <rect class="event" x="{rounded(x)}" y="{self.top}" width="{rounded(width)}"'
                     f' height="{self.bottom - self.top}"/>\n')
            body += text(x + width / 2, self.top - 3, str(number), "middle")
        return body

    def axes(self) -> str:
        body = ""
        for tick in range(self.ticks + 1):
            y = rounded(self.up(tick * self.step))
            body += f'  <path class="grid" d="M{self.left} {y}H{self.right}"/>\n'
            value = with_unit(round(tick * self.step, 12), self.panel["fieldConfig"]["defaults"]["unit"])
            body += text(self.left - 6, float(y) + 4, value, "number")
        for second in range(0, self.seconds + 1, MINUTE // 2):
            body += text(self.across(second), self.bottom + 17, clock(second), "middle")
        return body

    def placed_names(self) -> list[tuple[float, int, str]]:
        """For each line: where its name begins, in which row of the legend, from 1 on."""
        placed, x, row = [], 14.0, 1
        for line in self.lines:
            width = 17 + width_of(line["name"])
            if x + width > self.width and x > 14:
                x, row = 14, row + 1
            placed.append((self.x + x, row, line["name"]))
            x += width + 12
        return placed

    def legend(self) -> str:
        body = ""
        for number, (x, row, name) in enumerate(self.names):
            y = self.bottom + BOTTOM + ROW * row - 11
            body += f'  <path class="key c{number}" d="M{rounded(x)} {y - 4}h12"/>\n'
            body += text(x + 17, y, name)
        return body

    def drawn(self) -> str:
        # The first is above the others, but for the fourth, which has dashes.
        order = sorted(range(len(self.lines)), key=lambda number: (number == 3, -number))
        lines = "".join(
            f'  <path class="line c{number}" d="{self.path(self.lines[number]["values"])}"/>\n'
            for number in order
        )
        return (
            f'  <rect class="panel" x="{self.x}" y="{self.y}" width="{self.width}"'
            f' height="{self.height}" rx="4"/>\n'
            + text(self.x + 14, self.y + 20, self.panel["title"], "head")
            + self.events() + self.axes() + lines + self.legend()
        )


def faults_of(dashboard: dict, recorded: dict) -> list[str]:
    """What keeps a panel from being drawn, or leaves a line of it without any value."""
    found = []
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            lines = recorded["lines"].get(target["expr"])
            if lines is None:
                found.append(f"'{panel['title']}' asks what the run was not asked: {target['expr']}")
            elif not lines or any(set(line["values"]) == {None} for line in lines):
                found.append(f"'{panel['title']}' gets no number for {target['expr']}")
    return found


def drawn(dashboard: dict, recorded: dict) -> str:
    places = [panel["gridPos"] for panel in dashboard["panels"]]
    width = max(at["x"] + at["w"] for at in places) * CELL_X + GAP
    height = HEAD + max(at["y"] + at["h"] for at in places) * CELL_Y
    events = "; ".join(
        f"{number}: {name}, {clock(begin)}" + (f" to {clock(end)}" if end > begin else "")
        for number, (name, begin, end) in enumerate(recorded["events"], 1)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"'
        ' aria-labelledby="title">\n  <title id="title">The panels of docs/grafana/colock.json, drawn'
        f' from the answers of Prometheus {recorded["prometheus"]} after a run</title>\n{STYLE}'
        f'  <rect class="page" width="{width}" height="{height}" rx="6"/>\n'
        + text(GAP + 14, 22, dashboard["title"], "head")
        + text(width - GAP, 22, events, "number")
        + "".join(Panel(panel, recorded).drawn() for panel in dashboard["panels"])
        + "</svg>\n"
    )
