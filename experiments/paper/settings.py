"""Settings of an experiment: defaults in a frozen dataclass, others from a TOML file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

S = TypeVar("S")


class Running(NamedTuple):
    """How an experiment is run; only the seed changes the results."""

    n_jobs: int | None
    seed: int
    verbose: bool


def read_settings(kind: type[S], quick: Mapping[str, Any], config: str | Path | None) -> S:
    """The default settings, overridden by those of a file, and these by the quick mode."""
    usual: Any = kind()
    given = {} if config is None else _read(Path(config))
    known = {field.name for field in fields(usual)}
    if strange := sorted(given.keys() - known):
        raise ValueError(f"{config}: there is no setting {strange[0]!r}; there are {', '.join(sorted(known))}.")
    checked = {name: _like(getattr(usual, name), value, f"{config}: {name}") for name, value in given.items()}
    return replace(usual, **{**checked, **quick})  # type: ignore[no-any-return]


def write_settings(settings: Any, path: Path) -> None:
    """Write settings as TOML; numbers, text and lists are written as in JSON."""
    values = asdict(settings)
    path.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items()), encoding="utf-8")


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {path} with settings.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} must be a TOML file with settings: {error}.") from None


def _like(usual: Any, value: Any, what: str) -> Any:
    """The value, if it has the type of the default."""
    if isinstance(usual, tuple) and isinstance(value, list) and value:
        return tuple(_like(usual[0], item, what) for item in value)
    if isinstance(usual, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(usual) is not type(value):
        raise ValueError(f"{what} must have the same type as {usual!r}, got {value!r}.")
    return value
