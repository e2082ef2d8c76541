"""Rendering: a Vega-Lite dict as PNG, SVG, PDF, an HTML page that needs no network, or the dict itself."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

from pantrace.errors import MissingExtra, UsageError
from pantrace.wire.xml_text import xml_text

from .size import sized

KINDS = ("png", "svg", "pdf", "html", "vl.json")
DPI = 144
"""Pixels per inch (72 points) of a PNG."""
_FOREIGN = re.compile(r"https?://(?:vega\.github\.io|github\.com)/[\w./-]*")


def render(
    figure: dict[str, Any], kind: str, *, width: float | None = None, height: float | None = None, dpi: int = DPI
) -> bytes:
    """The bytes of a picture of this kind, in this size (in points); nothing is fetched from a network."""
    figure = _drawable(figure)
    if width is not None or height is not None:
        # An empty list of allowed addresses: a figure may contain text from recordings, and must not make us fetch
        # anything.
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


def _drawable(value: Any) -> Any:
    """A figure without characters that SVG cannot contain. The converter refuses lone surrogates, and a control
    character in a name from a recording would end the whole process."""
    if isinstance(value, str):
        return xml_text(value)
    if isinstance(value, dict):
        return {xml_text(key): _drawable(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_drawable(each) for each in value]
    return value


def _converter() -> Any:
    try:
        import vl_convert
    except ImportError:
        raise MissingExtra("drawing a figure", "analysis") from None
    return vl_convert


def _page(figure: dict[str, Any], converter: Any) -> bytes:
    """One HTML page that contains the program that draws it. Not the converter's own page: there, a label could end the
    script element."""
    from jinja2 import Environment

    template = files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    drawn = converter.vegalite_to_vega(figure)
    drawn.pop("$schema", None)
    # In JSON, "<" occurs only inside strings; with it escaped, no text can end the script element.
    text = json.dumps(drawn, ensure_ascii=True).replace("<", "\\u003c")
    # The menu that links to another site is off. Its address is removed too, and the page's policy forbids fetching.
    program = _FOREIGN.sub("about:blank", converter.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
    page = Environment(autoescape=True).from_string(template)
    return page.render(title=_title(figure), program=program, figure=text).encode()


def _title(figure: dict[str, Any]) -> str:
    title = figure.get("title")
    return str(title.get("text", "Figure") if isinstance(title, dict) else title or "Figure")
