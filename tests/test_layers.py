"""Imports point down the layers only; the list is the architecture."""

import ast
import re
from pathlib import Path

import variegate

LAYERS = [
    {"checks", "compiled", "messages", "settings", "threads", "types", "writing"},
    {"design", "gram", "sets"},
    {"dpp", "data"},
    {"similarity", "likelihoods", "priors", "screening", "metrics"},
    {"naming", "datasets", "tasks", "large"},
    {"inference", "candidates"},
    {"predictions", "diagnostics", "groups", "side_information"},
    {"posterior", "panels"},
    {"selection"},
    {"estimators"},
    {"paper"},
    {"saving", "baselines", "tables"},
    {"plots"},
    {"comparison"},
    {"report"},
    {"run"},
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


PUBLIC = {"_replace", "_asdict", "_fields"}  # of a NamedTuple


def private_reads(path: Path) -> list[str]:
    """Private names of other modules that a file uses: attributes that it does not define itself, and imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    own |= {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
    own |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    found = []
    for node in nodes:
        if isinstance(node, ast.Attribute) and _is_private(node.attr) and node.attr not in own | PUBLIC:
            inherited = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            found += [] if inherited else [f"{path.name}:{node.lineno} {ast.unparse(node)}"]
        elif isinstance(node, ast.ImportFrom) and node.level:
            found += [f"{path.name}:{node.lineno} {a.name}" for a in node.names if _is_private(a.name)]
    return found


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def test_no_module_reads_private_names_of_another():
    assert [read for path in sorted(PACKAGE.rglob("*.py")) for read in private_reads(path)] == []


def test_the_check_notices_a_private_read(tmp_path):
    path = tmp_path / "page.py"
    path.write_text("from .saving import _umask\n\ndef rows(model):\n    return model._training\n")
    assert private_reads(path) == ["page.py:1 _umask", "page.py:4 model._training"]


def bypassing_imports(root: Path) -> list[str]:
    """Imports from inside another room; what rooms need of each other stands in their `__init__`."""
    rooms = {path.parent.name for path in root.glob("*/__init__.py")}
    found = []
    for path in sorted(set(root.rglob("*.py")) - {root / "__init__.py"}):
        inside = path.relative_to(root).parts[:-1]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level and node.module:
                target = [*inside[: len(inside) - node.level + 1], *node.module.split(".")]
                files = [a.name for a in node.names if _is_file(root.joinpath(*target), a.name)]
                if target[0] in rooms and target[0] not in inside and (len(target) > 1 or files):
                    found.append(f"{path.relative_to(root)}: {'.'.join([*target, *files])}")
    return found


def _is_file(room: Path, name: str) -> bool:
    """Whether a name is a file of the room, not a function that its `__init__` offers."""
    if not (room / f"{name}.py").exists():
        return False
    tree = ast.parse((room / "__init__.py").read_text(encoding="utf-8"))
    return name not in {alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}


def test_imports_go_through_the_doors_of_rooms():
    assert bypassing_imports(PACKAGE) == []


def test_the_check_notices_an_import_past_the_door(tmp_path):
    for room in ("dpp", "report"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").write_text("")
    (tmp_path / "report" / "page.py").write_text("from ..dpp.volume import Volume\nfrom .charts import bars\n")
    assert bypassing_imports(tmp_path) == ["report/page.py: dpp.volume"]


def test_numba_comes_from_one_module():
    direct = [
        path.name
        for path in PACKAGE.rglob("*.py")
        if re.search(r"^\s*(import|from) numba\b", path.read_text(encoding="utf-8"), re.M)
    ]
    assert direct == ["compiled.py"]
