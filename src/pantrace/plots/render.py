"""Rendering: a Vega-Lite dict as PNG, SVG, PDF, an HTML page that needs no network, or the dict itself."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

from pantrace.errors import MissingExtra, UsageError

from .size import sized

KINDS = ("png", "svg", "pdf", "html", "vl.json")
DPI = 144
"""Pixels of a PNG for each inch of 72 points."""
_FOREIGN = re.compile(r"https?://(?:vega\.github\.io|github\.com)/[\w./-]*")


def render(
    figure: dict[str, Any], kind: str, *, width: float | None = None, height: float | None = None, dpi: int = DPI
) -> bytes:
    """The bytes of a picture of this kind, in this size (in points); nothing is fetched from a network."""
    # Half a letter in a name is no text that could be drawn.
    figure = json.loads(json.dumps(figure, ensure_ascii=False).encode("utf-8", "replace"))
    if width is not None or height is not None:
        figure = sized(figure, width, height, lambda tried: _converter().vegalite_to_svg(tried, allowed_base_urls=[]))
    if kind == "vl.json":
        return json.dumps(figure, indent=1, ensure_ascii=False).encode() + b"\n"
    if kind not in KINDS:
        raise UsageError(f"a figure can be written as {', '.join(KINDS)}; not as {kind!r}")
    converter = _converter()
    if kind == "png":
        return bytes(converter.vegalite_to_png(figure, scale=1, ppi=dpi, allowed_base_urls=[]))
    if kind == "svg":
        return str(converter.vegalite_to_svg(figure, allowed_base_urls=[])).encode()
    if kind == "pdf":
        return bytes(converter.vegalite_to_pdf(figure, allowed_base_urls=[]))
    return _page(figure, converter)


def _converter() -> Any:
    try:
        import vl_convert
    except ImportError:
        raise MissingExtra("drawing a figure", "analysis") from None
    return vl_convert


def _page(figure: dict[str, Any], converter: Any) -> bytes:
    """One HTML page with the drawing program inside. Not the converter's own page: there, a label could end the
    script."""
    from jinja2 import Environment

    template = files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    drawn = converter.vegalite_to_vega(figure)
    drawn.pop("$schema", None)
    # A "<" inside JSON stands only in texts; escaped, no text can end the script element.
    text = json.dumps(drawn, ensure_ascii=True).replace("<", "\\u003c")
    # The menu that leads to a foreign site is off; its address goes too, and the page's policy forbids any fetching.
    program = _FOREIGN.sub("about:blank", converter.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
    page = Environment(autoescape=True).from_string(template)
    return page.render(title=_title(figure), program=program, figure=text).encode()


def _title(figure: dict[str, Any]) -> str:
    title = figure.get("title")
    return str(title.get("text", "Figure") if isinstance(title, dict) else title or "Figure")
