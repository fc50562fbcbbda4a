"""Whether every link of the built documentation leads somewhere: ``make docs`` runs it.

Owns what a page may point to. Within the documentation: a file that was built, and an anchor that
stands in it. Elsewhere: an address with https and a host; nobody is asked whether it is there
(``make linkcheck`` asks). And no page may load anything from elsewhere: who reads it, on which
machine and when, is nobody else's business.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes by which a browser fetches something by itself.
_LOADED = {
    "script": ("src",),
    "img": ("src", "srcset"),
    "iframe": ("src",),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "object": ("data",),
    "embed": ("src",),
}
_FETCHING = {"stylesheet", "icon", "shortcut", "preload", "prefetch", "preconnect", "dns-prefetch"}


@dataclass
class Page(HTMLParser):
    """What one page points to, what it loads, and what can be pointed to in it."""

    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    unresolved: int = 0
    """How many links of a source have become plain text, since nothing was found for them."""
    _in_link: bool = False

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take down one element."""
        of = {name: value or "" for name, value in attrs}
        self.anchors.update(of[name] for name in ("id", "name") if of.get(name))
        if tag == "a" and "href" in of:
            self.links.append(of["href"])
            self._in_link = True
        if tag == "link" and "href" in of:
            fetched = _FETCHING & set(of.get("rel", "").lower().split())
            (self.loads if fetched else self.links).append(of["href"])
        for name in _LOADED.get(tag, ()):
            parts = of.get(name, "").split(",") if name == "srcset" else [of.get(name, "")]
            self.loads += [part.split()[0] for part in parts if part.strip()]
        if not self._in_link and {"xref", "myst"} <= set(of.get("class", "").split()):
            self.unresolved += 1

    def handle_endtag(self, tag: str) -> None:
        """Take down the end of one element."""
        self._in_link = self._in_link and tag != "a"


def read_page(file: Path) -> Page:
    """Return what stands in one HTML file."""
    page = Page()
    page.feed(file.read_text(encoding="utf-8"))
    page.close()
    return page


def find_faults(root: Path) -> Iterator[str]:
    """Yield a sentence for every link in the pages under `root` that leads nowhere."""
    root = root.resolve()
    pages = {file: read_page(file) for file in sorted(root.rglob("*.html"))}
    if not pages:
        yield f"there is no page in {root.name}"
    for file, page in pages.items():
        where = file.relative_to(root).as_posix()
        if page.unresolved:
            yield f"{where}: {page.unresolved} of its links lead nowhere and became plain text"
        for address in page.loads:
            if address.startswith("data:"):
                continue
            if urlsplit(address).netloc:
                yield f"{where}: loads {address} from elsewhere"
            else:
                yield from _faults_within(address, file, root, pages)
        for address in page.links:
            yield from _faults_of(address, file, root, pages)


def _faults_of(address: str, file: Path, root: Path, pages: dict[Path, Page]) -> Iterator[str]:
    parts, where = urlsplit(address), file.relative_to(root).as_posix()
    if parts.scheme == "mailto":
        return
    if parts.scheme or parts.netloc:
        if parts.scheme != "https" or "." not in (parts.hostname or "") or " " in address:
            yield f"{where}: {address} is no address with https and a host"
        return
    yield from _faults_within(address, file, root, pages)


def _faults_within(address: str, file: Path, root: Path, pages: dict[Path, Page]) -> Iterator[str]:
    parts, where = urlsplit(address), file.relative_to(root).as_posix()
    anchor = unquote(parts.fragment)
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if not target.is_relative_to(root) or not target.is_file():
        yield f"{where}: {address} leads to no file"
    elif anchor and target in pages and anchor not in pages[target].anchors:
        yield f"{where}: {address} leads to no anchor of its page"


def main() -> int:
    """Print what leads nowhere in the folder that is named; return 1 if anything does."""
    faults = list(find_faults(Path(sys.argv[1])))
    print(*faults, sep="\n", file=sys.stderr, end="\n" if faults else "")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
