"""The server: the same pages and blocks on loopback, for runs that are too large for a file or not finished yet."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any

from pantrace.errors import MissingExtra, PantraceError, UsageError
from pantrace.wire.json import decode, encode

from .labels import checked, export, keep, kept
from .pack import INDEX, Packer
from .page import policy, program, style, template
from .shown import Shown
from .spool import Spool

# Names by which a browser on this machine may call us. Any other Host is a site whose name leads here (DNS rebinding).
LOCAL = ("127.0.0.1", "localhost", "[::1]")
LARGEST = 100_000
"""Maximum bytes of a request."""


class Site:
    """What the server shows. It is packed in the background, and again whenever `changed` returns something new."""

    def __init__(self, gather: Callable[[], Shown], changed: Callable[[], object], by: str):
        self._gather = gather
        self._changed = changed
        self._by = by
        self._lock = Lock()
        self._stop = Event()
        self._seen: object = None
        self.edition = 0
        self.packer: Packer | None = None
        self.index: dict[str, Any] = _empty("Reading…")
        self._spools: list[Spool] = []
        self._thread = Thread(target=self._work, name="packing", daemon=True)

    def start(self) -> None:
        """Start reading."""
        self._thread.start()

    def close(self) -> None:
        """Stop, and delete what was packed."""
        self._stop.set()
        self._thread.join(10)
        for spool in self._spools:
            spool.close()

    def _work(self) -> None:
        wait = 0.0
        while not self._stop.wait(wait):
            wait = 1.0
            seen = self._changed()
            if self.edition and seen == self._seen:
                continue
            self._seen = seen
            started = monotonic()
            self._pack()
            # A growing run is read from its beginning each time: leave the machine time for the evaluation itself.
            wait = max(wait, 2 * (monotonic() - started))

    def _pack(self) -> None:
        spool = Spool()
        try:
            self.packer = Packer(spool, f"e{self.edition + 1}-")
            index = self.packer.pack(self._gather())
        except (PantraceError, OSError) as error:
            index = _empty(f"Nothing can be shown: {error}")
        with self._lock:
            # The previous edition stays, for pages that are still open.
            for old in self._spools[:-1]:
                old.close()
            self._spools = [*self._spools[-1:], spool]
            self.edition += 1
            self.index = index

    def block(self, key: str) -> tuple[bytes, bool] | None:
        """A block, and whether it is compressed; None if there is none of that name."""
        with self._lock:
            for spool in reversed(self._spools):
                if key in spool.blocks and key != INDEX:
                    block = spool.blocks[key]
                    return spool.read(key), block.packed
        return None

    def served_index(self) -> bytes:
        """The index, with the labels of its runs."""
        runs = [run | self._labels(Path(run["path"])) if _keeps_labels(run) else run for run in self.index["runs"]]
        return encode(self.index | {"runs": runs, "edition": self.edition})

    def _labels(self, folder: Path) -> dict[str, Any]:
        """This person's labels of samples and steps; those of others are separate, so that they influence nobody."""
        mine: dict[str, Any] = {}
        steps: dict[str, dict[str, Any]] = {}
        others: dict[str, list[Any]] = {}
        for each in kept(folder):
            if each.by != self._by:
                if each.step is None:
                    others.setdefault(each.sample, []).append(_plain(each))
            elif each.step is None:
                mine[each.sample] = _plain(each)
            else:
                steps.setdefault(each.sample, {})[each.step] = _plain(each)
        return {"labels": mine, "steps": steps, "others": others}

    def state(self) -> dict[str, int]:
        """The edition that is shown, and how many samples of the next one have been read."""
        return {"edition": self.edition, "read": self.packer.samples if self.packer is not None else 0}

    def label(self, body: Any) -> dict[str, Any]:
        """Store a label that a page sends."""
        if not isinstance(body, dict):
            raise UsageError("a label is an object")
        run = next((each for each in self.index["runs"] if each["key"] == body.get("run")), None)
        if run is None or not _keeps_labels(run):
            raise UsageError(
                "labels are stored in run directories, and this is not one (make one with `pantrace eval`)"
            )
        found = self.block(run["table"])
        if found is None:
            raise UsageError("the run has changed meanwhile; reload the page")
        import gzip

        table = decode(gzip.decompress(found[0]))
        if body.get("sample") not in table["key"]:
            raise UsageError("this run has no such sample")
        place = table["key"].index(body["sample"])
        epoch = table["epoch"][place] if "epoch" in table else None
        label = checked(body, by=self._by, sample=body["sample"], id=table["id"][place], epoch=epoch)
        keep(Path(run["path"]), label)
        return _plain(label)

    def exported(self, key: str) -> str | None:
        """The labels of a run as a table; None for a run that has no place for them."""
        run = next((each for each in self.index["runs"] if each["key"] == key), None)
        return export(kept(Path(run["path"]))) if run is not None and _keeps_labels(run) else None


def _keeps_labels(run: dict[str, Any]) -> bool:
    return (Path(run["path"]) / "run.json").is_file()


def _plain(label: Any) -> dict[str, Any]:
    plain: dict[str, Any] = decode(encode(label))
    return plain


def _empty(title: str) -> dict[str, Any]:
    names = ("runs", "comparisons", "plots", "notes", "dropped")
    return {"title": title, "id": "", "made": None, **{name: [] for name in names}}


def application(site: Site, port: int, *, host: str = "127.0.0.1", access: str = "") -> Any:
    """The ASGI application. `access`: a word that the address must contain, if other machines may connect."""
    try:
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.requests import Request
        from starlette.responses import PlainTextResponse, Response
        from starlette.routing import Route
    except ImportError:
        raise MissingExtra("the viewer's server", "view") from None

    # New for each start, and only in the page: it proves that a label comes from our page.
    token = secrets.token_urlsafe(24)
    hosts = {f"{name}:{port}" for name in LOCAL} | ({f"{host}:{port}"} if access else set())
    document = template().render(
        title="pantrace", door="server", token=token, policy="", style=_safe(style()),
        program=_safe(program()), first=(), rest=(),
    )  # fmt: skip
    headers = {
        "Content-Security-Policy": policy(served=True),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        # Otherwise another site could embed our blocks as pictures or scripts and measure them.
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cache-Control": "no-cache",
    }

    class Guard:
        """Answers only this page: pages of other sites can reach a loopback port, too."""

        def __init__(self, app: Any):
            self._app = app

        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http":
                refusal = _refusal(Request(scope), hosts, access)
                if refusal is not None:
                    await PlainTextResponse(refusal, 403, headers)(scope, receive, send)
                    return
            await self._app(scope, receive, send)

    async def page(_: Request) -> Response:
        answer = Response(document, media_type="text/html; charset=utf-8", headers=headers)
        if access:
            answer.set_cookie("pantrace-access", access, httponly=True, samesite="strict")
        return answer

    async def index(_: Request) -> Response:
        return Response(site.served_index(), media_type="application/json", headers=headers)

    async def state(_: Request) -> Response:
        return Response(encode(site.state()), media_type="application/json", headers=headers)

    async def data(request: Request) -> Response:
        found = site.block(request.path_params["key"])
        if found is None:
            return PlainTextResponse("no such block", 404, headers)
        content, packed = found
        tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        more = headers | {"ETag": tag} | ({"Content-Encoding": "gzip"} if packed else {})
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=more)
        # Never with its own type: an SVG picture opened directly would run as a document of this server.
        return Response(content, media_type="application/octet-stream", headers=more)

    async def label(request: Request) -> Response:
        # The token is in the page only, so another site cannot forge the header of a write.
        if not hmac.compare_digest(request.headers.get("x-pantrace", ""), token):
            return PlainTextResponse("reload the page: it comes from an earlier server", 403, headers)
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > LARGEST:
                return PlainTextResponse("too large", 413, headers)
        try:
            return Response(encode(site.label(decode(body))), media_type="application/json", headers=headers)
        except PantraceError as error:
            return PlainTextResponse(str(error), 400, headers)
        except OSError as error:
            return PlainTextResponse(f"the label could not be saved: {error.strerror}", 500, headers)

    async def labels(request: Request) -> Response:
        text = site.exported(request.path_params["run"])
        if text is None:
            return PlainTextResponse("this run has no labels", 404, headers)
        return Response(text, media_type="text/csv; charset=utf-8", headers=headers)

    routes = [
        Route("/", page),
        Route("/index", index),
        Route("/state", state),
        Route("/data/{key}", data),
        Route("/label", label, methods=["POST"]),
        Route("/labels/{run}.csv", labels),
    ]
    return Starlette(routes=routes, middleware=[Middleware(Guard)])


def _refusal(request: Any, hosts: set[str], access: str) -> str | None:
    """Why a request is refused; None if it is not."""
    host = request.headers.get("host", "")
    if host not in hosts:
        return f"this server is for {', '.join(sorted(hosts))}, not for {host[:80]!r}"
    origin = request.headers.get("origin")
    if origin is not None and origin not in {f"http://{each}" for each in hosts}:
        return "request from another site"
    # Browsers send no Origin with a simple GET: this header tells where such a request comes from.
    if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return "request from another site"
    given = request.query_params.get("access") or request.cookies.get("pantrace-access", "")
    if access and not hmac.compare_digest(given, access):
        return "the address needs the word that `pantrace view` printed"
    return None


def _safe(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)
