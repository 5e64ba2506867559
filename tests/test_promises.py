"""What pages and docstrings promise in passing, `like_this(x=1)` or --like-this, exists."""

import ast
import contextlib
import importlib
import inspect
import pkgutil
import re

import click
import pytest
from experiments.paper.command import command_of

import variegate
from pages import ROOT, pages
from variegate.cli.main import cli

SPAN = re.compile(r"`([^`\n]+)`")
BLOCK = re.compile(r"```.*?```", re.DOTALL)
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
FOREIGN = {"filterwarnings", "Client", "load", "open", "kernel", "entries"}  # of other packages, or given by the user


def signatures():
    """Signatures of all public functions, classes and methods by name."""
    found = {}
    for module in pkgutil.walk_packages(variegate.__path__, "variegate."):
        for name, value in vars(importlib.import_module(module.name)).items():
            ours = str(getattr(value, "__module__", "")).startswith("variegate")
            if name.startswith("_") or not ours or isinstance(value, click.Command):
                continue
            members = inspect.getmembers(value, callable) if inspect.isclass(value) else []
            for key, call in ((name, value), *members):
                if callable(call) and not key.startswith("_"):
                    with contextlib.suppress(ValueError):  # exceptions have none
                        found.setdefault(key, []).append(inspect.signature(call))
    return found


SIGNATURES = signatures()


def takes(signature, keyword):
    return keyword in signature.parameters or any(p.kind == p.VAR_KEYWORD for p in signature.parameters.values())


def texts():
    """Pages, and the docstrings of each file, without the code blocks, which are run."""
    for path in pages():
        yield pytest.param(BLOCK.sub("", path.read_text(encoding="utf-8")), id=str(path.relative_to(ROOT)))
    for path in sorted((ROOT / "src").rglob("*.py")):
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
        nodes = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, kinds)]
        said = "\n".join(filter(None, map(ast.get_docstring, nodes)))
        if "`" in said or "--" in said:
            yield pytest.param(said, id=str(path.relative_to(ROOT)))


def wrong_promises(text):
    """Calls in passing whose function or whose keywords do not exist, and options that no command has."""
    for span in SPAN.findall(text):
        try:
            tree = ast.parse(span.replace("…", "..."), mode="eval")
        except SyntaxError:
            continue
        for call in [node for node in ast.walk(tree) if isinstance(node, ast.Call)]:
            name = getattr(call.func, "attr", getattr(call.func, "id", None))
            keywords = [keyword.arg for keyword in call.keywords if keyword.arg]
            known = SIGNATURES.get(name, [])
            if name not in FOREIGN and not any(all(takes(s, k) for k in keywords) for s in known):
                yield span
    commands = [*cli.commands.values(), command_of("toy")]
    options = {option for command in commands for p in command.params for option in p.opts}
    yield from (o for o in OPTION.findall(text) if o not in options | {"--help", "--version"})


@pytest.mark.parametrize("text", list(texts()))
def test_promises(text):
    assert list(wrong_promises(text)) == []


def test_wrong_promises_are_noticed():
    text = "`predict(X, corrected=True)`, `forecast(X)`, `--sizes 3`, but `predict(X, return_std=True)` and --size"
    assert list(wrong_promises(text)) == ["predict(X, corrected=True)", "forecast(X)", "--sizes"]
