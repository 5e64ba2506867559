"""Options by section, and config files that set them."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
option = click.option


class Command(click.Command):
    """A command whose `--help` lists options by section."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a list for each section, in the order of their first options."""
        sections: dict[str, list[tuple[str, str]]] = {}
        section = "Options"
        for parameter in self.get_params(ctx):
            section = getattr(parameter, "section", section)  # --help comes last
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx)):
                sections.setdefault(section, []).append(record)
        for name, records in sections.items():
            with formatter.section(name):
                formatter.write_dl(records)


class Number(click.FloatRange):
    """A range of finite numbers."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Convert as click does, and reject nan and infinity."""
        number = float(super().convert(value, param, ctx))
        if not isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


class _Folder(click.Path):
    """A folder for results; an empty name, as of an unset variable, would mean the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value):
            self.fail("expected the name of a folder, got ''; for the current folder give '.'", param, ctx)
        return super().convert(value, param, ctx)


class _Model(click.Path):
    """A model.vg, or the folder of a run that contains one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        inside = Path(value) / "model.vg"
        if Path(value).is_dir() and not inside.is_file():
            self.fail(f"no model.vg in the folder {str(value)!r}", param, ctx)
        return super().convert(str(inside) if inside.is_file() else value, param, ctx)


class _Names(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Names separated by commas, each counted once; a comma inside a name is doubled."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Split text, or take a list from a config file."""
        if isinstance(value, list | tuple):
            return tuple(dict.fromkeys(map(str, value)))
        parts = str(value).replace(",,", "\0").split(",")
        found = tuple(dict.fromkeys(part.strip().replace("\0", ",") for part in parts if part.strip()))
        if not found:
            self.fail(f"expected names separated by commas, got {value!r}.", param, ctx)
        return found


FILE = click.Path(exists=True, dir_okay=False, readable=True)
FOLDER = _Folder(file_okay=False)
MODEL = _Model(exists=True, dir_okay=False)
TABLE = click.Path(exists=True, readable=True)  # a zarr array is a folder
NAMES = _Names()
POSITIVE = click.IntRange(min=1)
ABOVE_ZERO = Number(min=0, min_open=True)
SHARE = Number(0, 1, min_open=True, max_open=True)
COMMANDS = {"select", "predict", "report", "compare", "demo"}
OWN = {"table", "model", "out", "seed", "n_jobs"}  # never taken from the run.json of another command


def options(section: str, *declared: Callable[[F], F]) -> Callable[[F], F]:
    """Combine the options of a section into one decorator."""

    def apply(function: F) -> F:
        for declare in reversed(declared):
            function = declare(function)
            function.__click_params__[-1].section = section  # type: ignore[attr-defined]
        return function

    return apply


def _read_config(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is not None:
        ctx.default_map = {**(ctx.default_map or {}), **_config_of(Path(value), ctx)}
        ctx.meta["variegate.config"] = value
    return value


def config_file() -> str | None:
    """Return the --config of the running command."""
    context = click.get_current_context(silent=True)
    return context.meta.get("variegate.config") if context else None


def _config_of(path: Path, ctx: click.Context) -> dict[str, Any]:
    """Read options from a TOML file (top level, or a table named after the command) or from an earlier run.json."""
    known = {str(p.name): p for p in ctx.command.params if p.name != "config"}
    given = {key.replace("-", "_"): value for key, value in _settings(path, ctx.info_name or "").items()}
    if path.suffix == ".json" and not set(given) <= set(known):  # of another command: take the options both have
        given = {name: value for name, value in given.items() if name in known and name not in OWN}
    for name in given.keys() - known:
        from ..data import did_you_mean  # loads numerics, which is fine once the command has failed

        close = did_you_mean(name, (other.replace("_", "-") for other in known))
        raise click.UsageError(f"{path}: no option {name!r}{close}")
    return {
        name: _as_typed(value, known[name], f"{path}: {name}")
        for name, value in given.items()
        if value not in (None, [])
    }


def _settings(path: Path, command: str) -> dict[str, Any]:
    # imported here to keep --help fast
    import json
    import tomllib

    kind = "JSON" if path.suffix == ".json" else "TOML"
    try:
        content = (json if kind == "JSON" else tomllib).loads(path.read_text("utf-8"))
    except (ValueError, OSError) as error:
        raise click.UsageError(
            f"{path}: not readable as {kind} ({error}); give a .toml, or the run.json of a run"
        ) from error
    if kind == "TOML":
        tables = {key: value for key, value in content.items() if key in COMMANDS and isinstance(value, dict)}
        return {**{key: value for key, value in content.items() if key not in tables}, **tables.get(command, {})}
    settings = content.get("settings") if isinstance(content, dict) else None
    if not isinstance(settings, dict):
        raise click.UsageError(f"{path}: expected the run.json of an earlier run, but it has no settings")
    return settings


def _as_typed(value: Any, known: click.Parameter, where: str) -> Any:
    """Return a value as typed on the command line, so that config files follow the same rules."""
    if getattr(known, "is_flag", False):
        if not isinstance(value, bool):
            raise click.UsageError(f"{where}: expected true or false, got {value!r}")
        return value
    some = value if isinstance(value, list) and known.type is NAMES else [value]
    if not all(isinstance(item, str | int | float) and not isinstance(item, bool) for item in some):
        raise click.UsageError(f"{where}: expected one word or number, got {value!r}")
    return some if some is value else str(value)


def _not_zero(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:
    if value == 0:
        raise click.BadParameter("expected a number of processes, or -1 for one per core, got 0.", ctx, param)
    return value


# --- options of several commands ---------------------------------------------------------------------------------

outcome = option("--outcome", metavar="COLUMN", help="Column to predict: numbers, classes or counts. Or FILE:COLUMN.")
drop = option("--drop", type=NAMES, metavar="A,B", help="Columns to leave out.")
samples = option("--samples", type=click.Choice(["rows", "columns"]), default="rows", show_default=True)
missing = option(
    "--missing", type=click.Choice(["error", "drop_samples", "drop_features", "impute"]), default="error",
    show_default=True, help="What to do about missing values.",
)  # fmt: skip
config = option(
    "--config", type=FILE, is_eager=True, expose_value=False, callback=_read_config,
    help="TOML file with any of these options, or the run.json of an earlier run; the command line takes precedence.",
)  # fmt: skip
categorical = option("--categorical", type=NAMES, metavar="A,B", help="Columns of numbers to read as categories.")
id_column = option("--id-column", metavar="COLUMN", help="Column of sample ids; with --samples columns, of features.")
exposure = option("--exposure", metavar="COLUMN", help="What counts are proportional to: time, library size.")
outcome_options = options(
    "Outcome",
    option("--task", type=click.Choice(["regression", "classification", "counts"]), help="Default: from the outcome."),
    option("--time", metavar="COLUMN", help="Survival: time until the event or until last seen. Or FILE:COLUMN."),
    option("--event", metavar="COLUMN", help="Survival: whether it happened: 0/1 or dead/alive; or COLUMN=VALUE."),
    option("--entry", metavar="COLUMN", help="Survival: when observation began, if not at 0."),
    exposure,
    option("--classes", type=NAMES, metavar="A,B", help="Keep only samples of these classes."),
)
similarity_options = options(
    "Similarity, by default the correlations of the columns",
    option("--network", type=FILE, help="Similar if close in a network: BioGRID, STRING, GraphML or edge list."),
    option(
        "--coordinates", type=FILE,
        help="Similar if close: names, then coordinates (lon and lat: on the globe), or chromosome and position; "
        "or .map, .bim.",
    ),
    option(
        "--bandwidth", type=ABOVE_ZERO, metavar="DISTANCE",
        help="Distance up to which features are similar: base pairs, km, … Default: from the data.",
    ),
    option("--labels", type=FILE, help="Similar if labelled alike: columns feature, label; or gene sets, .gmt."),
)  # fmt: skip
cluster = option("--cluster", metavar="ADDRESS", help="Run on this Dask scheduler, such as tcp://10.0.0.1:8786.")
n_jobs = option(
    "--n-jobs", type=click.IntRange(min=-1), callback=_not_zero, help="Processes for comparisons. -1: all cores."
)
seed = option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True)
overwrite = option("--overwrite", is_flag=True, help="Replace the results of an earlier run.")
json = option("--json", is_flag=True, help="Print the result as JSON.")
quiet = option("--quiet", "-q", is_flag=True, help="Nothing on stderr but errors.")
