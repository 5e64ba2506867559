"""The page of all error messages, generated from the source when the site is built."""

import ast
from collections import defaultdict
from pathlib import Path

import variegate

PACKAGE = Path(variegate.__file__).parent
FOR_USERS = {
    "ValueError",
    "TypeError",
    "UnreadableInput",
    "UnreadableModel",
    "StoreError",
    "CannotWrite",
    "ImportError",
    "WrongOutcome",
    "ImmoderateColumn",
    "MissingValues",
}
HEAD = """# Every error message

Errors are raised before any work is done wherever possible. Each says what was expected, what was given, and what to
do. This page is generated from the source, so you can search for the exact text; `…` stands for what depends on your
input.
"""


def text_of(node: ast.expr) -> str:
    """The text of a message, with … for what is filled in; "" if it is not a literal."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return text_of(node.left) + text_of(node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "brief":
        return text_of(node.args[0])
    return ""


def errors_of(tree: ast.AST) -> list[tuple[str, str]]:
    """Class and text of every `raise` with a message, and of every check of rows."""
    found = []
    for node in ast.walk(tree):
        call = node.exc if isinstance(node, ast.Raise) else None
        if isinstance(call, ast.Call) and call.args and isinstance(call.func, ast.Name) and call.func.id in FOR_USERS:
            texts = (" ".join(text_of(arg).split()) for arg in reversed(call.args))
            text = next((text for text in texts if text.strip("… .:")), "")
            if text:
                found.append((call.func.id, text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "check_rows":
            what, must = (text_of(arg) or "…" for arg in node.args[1:3])
            found.append(
                ("WrongOutcome", f"{what} must {must}, got …{text_of(node.args[4]) if node.args[4:] else ''}")
            )
    return found


def page() -> str:
    """The errors of each room, in Markdown."""
    rooms: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*.py")):
        room = path.relative_to(PACKAGE).with_suffix("").parts[0]
        rooms[room] |= set(errors_of(ast.parse(path.read_text(encoding="utf-8"))))
    parts = [HEAD]
    for room, errors in rooms.items():
        if errors:
            lines = [f"- *{kind}*: `` {text} ``\n" for kind, text in sorted(errors, key=lambda error: error[1])]
            parts.append(f"## variegate.{room}\n\n" + "".join(lines))
    return "\n".join(parts)


def write(app) -> None:
    """Write errors.md beside the other pages, if it has changed."""
    path, text = Path(app.srcdir) / "errors.md", page()
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def setup(app) -> dict:
    """Hook into Sphinx."""
    app.connect("config-inited", lambda app, config: write(app))
    return {"parallel_read_safe": True}
