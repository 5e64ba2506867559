"""Check a built site without a network: python docs/check_site.py docs/_build/html.

Checks that every link inside the site leads to an existing page and anchor; nothing is fetched from another machine;
the main topics are within two clicks of the front page; every public name is in the reference. Links to other sites
are listed, not followed.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import variegate

FETCHED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("link", "href"), ("video", "src")}
INFORMATIVE = {"canonical", "license", "author"}  # links that no browser fetches
DOORS = {
    "I have a CSV": "howto/csv.html",
    "I have a network": "howto/network.html",
    "I use scikit-learn": "howto/sklearn.html",
    "I want the paper": "paper.html",
    "It warned me": "messages.html",
}


class Page(HTMLParser):
    """Links, anchors and fetched resources of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.resources: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Sort the attributes of a tag."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if given.get("rel") not in INFORMATIVE:
            self.resources += [value for name, value in given.items() if (tag, name) in FETCHED]


def is_remote(address: str) -> bool:
    """Whether the address is on another machine."""
    return address.startswith("//") or urlsplit(address).scheme in ("http", "https", "ftp", "ws", "wss")


def target(page: Path, address: str) -> Path:
    """The file of an address on a page."""
    path = unquote(urlsplit(address).path)
    return (page.parent / path).resolve() if path else page


def dead_links(pages: dict[Path, Page]) -> list[str]:
    """Links and resources that lead nowhere."""
    dead = []
    for path, page in pages.items():
        for address in [*page.links, *page.resources]:
            if is_remote(address) or urlsplit(address).scheme in ("mailto", "data", "javascript"):
                continue
            file, anchor = target(path, address), unquote(urlsplit(address).fragment)
            if not file.is_file() or (anchor and file in pages and anchor not in pages[file].anchors):
                dead.append(f"{path.name}: {address} leads nowhere")
    return dead


def remote_resources(root: Path, pages: dict[Path, Page]) -> list[str]:
    """Resources that pages and style sheets would fetch from other machines."""
    found = [f"{path.name}: fetches {a}" for path, page in pages.items() for a in page.resources if is_remote(a)]
    for sheet in root.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8").replace(" ", "").replace('"', "").replace("'", "")
        found += [
            f"{sheet.name}: fetches a remote url" for sign in ("url(http", "url(//", "@importhttp") if sign in text
        ]
    return found


def closed_doors(root: Path, pages: dict[Path, Page]) -> list[str]:
    """Topics of the front page that are not within two clicks."""
    front = root / "index.html"
    first = {target(front, link) for link in pages[front].links}
    second = {target(path, link) for path in first & pages.keys() for link in pages[path].links}
    return [
        f"index.html: {name!r} is more than two clicks away"
        for name, to in DOORS.items()
        if root / to not in first | second
    ]


def undocumented(pages: dict[Path, Page]) -> list[str]:
    """Public names that are missing from the reference."""
    anchors = set().union(*(page.anchors for page in pages.values()))
    known = {anchor.rpartition(".")[2] for anchor in anchors if anchor.startswith("variegate.")}
    known |= {anchor.removeprefix("module-variegate.") for anchor in anchors}
    return [f"the reference lacks {name}" for name in variegate.__all__ if name not in known]


def problems(root: Path) -> list[str]:
    """All that is wrong with a site."""
    root = root.resolve()
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(root.rglob("*.html"))}
    if root / "index.html" not in pages:
        return [f"{root}: there is no index.html; build the site first: make docs"]
    return dead_links(pages) + remote_resources(root, pages) + closed_doors(root, pages) + undocumented(pages)


def main() -> None:
    """Print what is wrong, and fail if anything is."""
    root = Path(sys.argv[1])
    found = problems(root)
    outside = {a for path in root.rglob("*.html") for a in Page(path.read_text("utf-8")).links if is_remote(a)}
    print("\n".join([*found, f"links to other sites, not followed: {len(outside)}", *sorted(outside)]))
    print(f"{len(found)} problems in {len(list(root.rglob('*.html')))} pages")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
