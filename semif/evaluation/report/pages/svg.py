"""Drawings as SVG elements of a page: its colours, its letters, nothing that reaches outside."""

import io
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

WIDTH_INCHES = 5.4
"""At 72 units an inch: as wide as a phone, so that the letters are readable there."""

INK, FAINT, FIRST, SECOND = "#101112", "#c1c2c3", "#2b6cb1", "#c9601a"
"""Colours that occur nowhere else: the page's variables take their place, they are what is seen without."""
VARIABLES = {INK: "--ink", FAINT: "--faint", FIRST: "--first", SECOND: "--second"}
STYLE: dict[Any, Any] = {
    "font.size": 10,
    "text.color": INK,
    "text.parse_math": False,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "svg.fonttype": "none",
}
SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"


@dataclass(frozen=True)
class Picture:
    """An `svg` element, which says in words what it shows, and its title."""

    title: str
    svg: str


def picture(title: str, alt: str, draw: Callable[[Figure], None], height_inches: float) -> Picture:
    """What `draw` puts on an empty figure. Text that it is given must be printable."""
    written = io.StringIO()
    with mpl.rc_context(STYLE | {"svg.hashsalt": title}), _strange_letters_are_the_browsers():
        figure = Figure((WIDTH_INCHES, height_inches), layout="constrained")
        draw(figure)
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None})
    return Picture(title, _for_a_page(written.getvalue(), title, alt))


@contextmanager
def _strange_letters_are_the_browsers() -> Iterator[None]:
    """matplotlib warns of letters that its own font lacks; the page's reader has fonts for them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def _for_a_page(svg: str, title: str, alt: str) -> str:
    """The element alone, its ids its own, its colours the page's, its size the column's."""
    ET.register_namespace("", SVG)
    ET.register_namespace("xlink", XLINK)
    root = ET.fromstring(svg)  # noqa: S314 - matplotlib's own, a moment ago
    prefix = re.sub(r"\W+", "-", title.lower())
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.rsplit("}", 1)[-1] in {"metadata", "style"}:
                parent.remove(child)
        if "id" in parent.attrib:
            parent.set("id", f"{prefix}-{parent.get('id')}")
        if reference := parent.get(f"{{{XLINK}}}href"):
            parent.set(f"{{{XLINK}}}href", f"#{prefix}-{reference.removeprefix('#')}")
        if clip := parent.get("clip-path"):
            parent.set("clip-path", clip.replace("url(#", f"url(#{prefix}-"))
        if style := parent.get("style"):
            parent.set("style", _coloured(style))
    for size in ("width", "height"):
        root.attrib.pop(size, None)
    root.set("role", "img")
    root.set("aria-label", alt)
    return ET.tostring(root, encoding="unicode")


def _coloured(style: str) -> str:
    for colour, variable in VARIABLES.items():
        style = style.replace(colour, f"var({variable}, {colour})")
    return re.sub(r"font-family: [^;]*", "font-family: system-ui, sans-serif", style)
