"""Imports point down the layers only; the list is the architecture."""

import ast
from pathlib import Path

import variegate

LAYERS = [
    {"threads"},
    {"dpp", "data", "design"},
    {"similarity", "likelihoods", "priors", "screening"},
    {"naming", "datasets"},
    {"inference", "candidates"},
    {"predictions", "diagnostics"},
    {"posterior"},
    {"selection"},
    {"estimators", "metrics"},
    {"saving", "baselines", "tables"},
    {"plots"},
    {"comparison"},
    {"paper"},
    {"report"},
    {"cli"},
]
PACKAGE = Path(variegate.__file__).parent


def layer_of(module: str) -> int | None:
    room = module.split(".")[1] if "." in module else ""
    return next((i for i, rooms in enumerate(LAYERS) if room in rooms), None)


def imported_modules(path: Path, module: str) -> set[str]:
    """Every variegate module that a file imports, relative imports resolved."""
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            found |= {f"{origin}.{alias.name}" for alias in node.names}
    return {name for name in found if name.startswith("variegate.")}


def upward_imports(root: Path) -> list[str]:
    wrong = []
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root.parent).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        here = layer_of(module)
        if here is None:  # the package's own __init__ sees everything
            continue
        for target in sorted(imported_modules(path, module)):
            there = layer_of(target)
            same_room = module.split(".")[1] == target.split(".")[1]
            if there is not None and (there > here or (there == here and not same_room)):
                wrong.append(f"{module} imports {target}")
    return wrong


def test_imports_point_down():
    assert upward_imports(PACKAGE) == []


def test_every_room_has_a_layer():
    files = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert files | folders <= set().union(*LAYERS)


def test_the_check_notices_an_upward_import(tmp_path):
    root = tmp_path / "variegate"
    (root / "dpp").mkdir(parents=True)
    (root / "dpp" / "__init__.py").write_text("from ..inference import fit\n")
    assert upward_imports(root) == ["variegate.dpp imports variegate.inference.fit"]
