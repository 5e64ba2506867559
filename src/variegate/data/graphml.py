"""GraphML, an XML format for networks."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from .errors import UnreadableInput
from .network import Network, network_from_edges, unambiguous
from .text import read_text

_NAMES = ("name", "label", "symbol")


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
    nodes = root.findall(".//{*}node")
    if not nodes:
        raise UnreadableInput(f"{path}: expected nodes, got none; export it again")
    ids = [_attribute(path, node, "id") for node in nodes]
    edges = root.findall(".//{*}edge")
    a, b = ([_attribute(path, edge, end) for edge in edges] for end in ("source", "target"))
    known = set(ids)
    unknown = [end for end in (*a, *b) if end not in known]
    if unknown:
        raise UnreadableInput(f"{path}: expected edges between nodes, got '{unknown[0]}', which is not a node; add it")
    named = {key.get("id") for key in root.findall(".//{*}key") if (key.get("attr.name") or "").casefold() in _NAMES}
    aliases = [
        ((data.text or "").strip(), name)
        for node, name in zip(nodes, ids, strict=True)
        for data in node
        if data.get("key") in named
    ]
    # self-loops are dropped later, but keep nodes without neighbours
    return network_from_edges([*a, *ids], [*b, *ids], unambiguous(aliases))


def _root(path: str | Path, text: str) -> ET.Element:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise UnreadableInput(f"{path}: expected plain GraphML, got a document type definition; remove it")
    try:
        root = ET.fromstring(text)
    except (ET.ParseError, ValueError) as error:
        raise UnreadableInput(
            f"{path}: expected complete XML, got a file that cannot be parsed: {error}; export it again"
        ) from None
    tag = str(root.tag).rpartition("}")[2]
    if tag != "graphml":
        raise UnreadableInput(f"{path}: expected a GraphML file, got XML with the root element {tag}")
    return root


def _attribute(path: str | Path, element: ET.Element, name: str) -> str:
    value = element.get(name)
    if value is None:
        what = element.tag.rpartition("}")[2]
        raise UnreadableInput(f"{path}: expected the attribute '{name}' on every {what}, but one lacks it")
    return value
