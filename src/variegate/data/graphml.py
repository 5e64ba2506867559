"""GraphML, an XML format for networks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

from .errors import UnreadableInput
from .network import Network, network_from_edges, unambiguous
from .text import read_text


def read_graphml(path: str | Path) -> Network:
    """Read a GraphML file; a node's attributes "name", "label" and "symbol" become aliases of its id.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "net.graphml")
    ...     nodes, edge = '<node id="a"/><node id="b"/>', '<edge source="a" target="b"/>'
    ...     _ = path.write_text(f"<graphml><graph>{nodes}{edge}</graph></graphml>")
    ...     read_graphml(path).names
    ('a', 'b')
    """
    root = _root(path, read_text(path))
    if _tag(root) != "graphml":
        raise UnreadableInput(f"{path}: expected a GraphML file, got XML with the root element {_tag(root)}")
    nodes = [node for node in root.iter() if _tag(node) == "node"]
    if not nodes:
        raise UnreadableInput(f"{path}: expected nodes, got none; export it again")
    ids = [_attribute(path, node, "id") for node in nodes]
    ends = list(_edges(path, root, set(ids)))
    titles = {key.get("id"): (key.get("attr.name") or "").casefold() for key in root.iter() if _tag(key) == "key"}
    aliases = [
        ((data.text or "").strip(), name)
        for node, name in zip(nodes, ids, strict=True)
        for data in node
        if titles.get(data.get("key")) in ("name", "label", "symbol")
    ]
    # self-loops are dropped later, but keep nodes without neighbours
    ends += [(name, name) for name in ids]
    return network_from_edges([a for a, _ in ends], [b for _, b in ends], unambiguous(aliases))


def _root(path: str | Path, text: str) -> ET.Element:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise UnreadableInput(f"{path}: expected plain GraphML, got a document type definition; remove it")
    try:
        return ET.fromstring(text)
    except (ET.ParseError, ValueError) as error:
        raise UnreadableInput(
            f"{path}: expected complete XML, got a file that cannot be parsed: {error}; export it again"
        ) from None


def _edges(path: str | Path, root: ET.Element, ids: set[str]) -> Iterator[tuple[str, str]]:
    for edge in root.iter():
        if _tag(edge) == "edge":
            ends = _attribute(path, edge, "source"), _attribute(path, edge, "target")
            for end in ends:
                if end not in ids:
                    raise UnreadableInput(
                        f"{path}: expected edges between nodes, got '{end}', which is not a node; add it"
                    )
            yield ends


def _tag(element: ET.Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _attribute(path: str | Path, element: ET.Element, name: str) -> str:
    value = element.get(name)
    if value is None:
        raise UnreadableInput(f"{path}: expected the attribute '{name}' on every {_tag(element)}, but one lacks it")
    return value
