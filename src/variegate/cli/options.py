"""Options shared by commands, and config files that set them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


class Whole(click.IntRange):
    """An integer range; error messages say "integer"."""

    name = "integer"


class Number(click.FloatRange):
    """A range of finite numbers."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Convert as click does, and reject nan and infinity."""
        number = float(super().convert(value, param, ctx))
        if not isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


FILE = click.Path(exists=True, dir_okay=False, readable=True)


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


FOLDER = _Folder(file_okay=False)
MODEL = _Model(exists=True, dir_okay=False)
TABLE = click.Path(exists=True, readable=True)  # a zarr array is a folder
POSITIVE = Whole(min=1)
SHARE = Number(0, 1, min_open=True, max_open=True)
METHODS = (
    "variegate", "most_probable", "bernoulli_dpp", "dpp_bernoulli", "spike_slab", "omp", "lasso", "elastic_net",
    "forward_evidence", "forward_score", "univariate", "random", "mrmr",
)  # fmt: skip
SIZED_BY_THEMSELVES = METHODS[:5]
COMMANDS = {"select", "predict", "report", "compare", "demo"}
OWN = {"table", "model", "out", "seed", "jobs"}  # never taken from the run.json of another command
NOT_SETTINGS = {"config", "overwrite", "quiet", "as_json", "cluster"}  # do not affect the result


class Names(click.ParamType):  # type: ignore[type-arg,unused-ignore]
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


NAMES = Names()


def together(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Combine decorators into one, the first outermost."""

    def apply(function: F) -> F:
        for decorate in reversed(decorators):
            function = decorate(function)
        return function

    return apply


def _read_config(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is not None:
        ctx.default_map = {**(ctx.default_map or {}), **config_of(Path(value), ctx)}
        ctx.meta["variegate.config"] = value
    return value


def config_of(path: Path, ctx: click.Context) -> dict[str, Any]:
    """Read options from a TOML file (top level, or a table named after the command) or from an earlier run.json."""
    known = {str(p.name): p for p in ctx.command.params if p.name != "config"}
    found = {}
    settings = _settings(path, ctx.info_name or "")
    if path.suffix == ".json" and not set(settings) <= set(known):  # of another command: take the options both have
        settings = {key: value for key, value in settings.items() if key in known and key not in OWN}
    for key, value in settings.items():
        name = {"json": "as_json"}.get(key, key.replace("-", "_"))
        if name not in known:
            raise click.UsageError(f"{path}: no option {key!r}{_close(key, known)}")
        if value is not None:
            found[name] = _as_typed(value, known[name], f"{path}: {key}")
    return found


def _settings(path: Path, command: str) -> dict[str, Any]:
    content = _parsed(path)
    if path.suffix == ".json":
        settings = content.get("settings")
        if not isinstance(settings, dict):
            raise click.UsageError(f"{path}: expected the run.json of an earlier run, but it has no settings")
        return settings
    tables = {key: value for key, value in content.items() if key in COMMANDS and isinstance(value, dict)}
    return {**{key: value for key, value in content.items() if key not in tables}, **tables.get(command, {})}


def _as_typed(value: Any, option: click.Parameter, where: str) -> Any:
    """Return a value as typed on the command line, so that config files follow the same rules."""
    if getattr(option, "is_flag", False):
        if not isinstance(value, bool):
            raise click.UsageError(f"{where}: expected true or false, got {value!r}")
        return value
    plain = [item for item in (value if isinstance(value, list) else [value]) if _is_plain(item)]
    if isinstance(option.type, Names) and isinstance(value, list) and len(plain) == len(value):
        return tuple(map(str, plain))
    if isinstance(value, list) or not plain:
        raise click.UsageError(f"{where}: expected one word or number, got {value!r}")
    return str(value)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _parsed(path: Path) -> dict[str, Any]:
    # imported here to keep --help fast
    import json
    import tomllib

    try:
        text = path.read_text("utf-8")
        content = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, OSError) as error:
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise click.UsageError(
            f"{path}: not readable as {kind} ({error}); give a .toml, or the run.json of a run"
        ) from error
    if not isinstance(content, dict):
        raise click.UsageError(f"{path}: expected options, got {type(content).__name__}")
    return content


def _close(name: str, known: Iterable[str]) -> str:
    from ..data import did_you_mean  # loads numerics, which is fine once the command has failed

    return did_you_mean(name, (other.replace("_", "-") for other in known))


def _not_zero(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:
    if value == 0:
        raise click.BadParameter("expected a number of processes, or -1 for one per core, got 0.", ctx, param)
    return value


config_option = click.option(
    "--config", type=FILE, is_eager=True, expose_value=False, callback=_read_config,
    help="TOML file with any of these options, or the run.json of an earlier run; the command line takes precedence.",
)  # fmt: skip

data_options = together(
    click.option("--outcome", metavar="COLUMN", help="Column to predict: numbers or classes. Or FILE:COLUMN."),
    click.option("--task", type=click.Choice(["regression", "classification"]), help="Default: from the outcome."),
    click.option(
        "--time", metavar="COLUMN", help="Survival: time until the event or until last seen. Or FILE:COLUMN."
    ),
    click.option("--event", metavar="COLUMN", help="Survival: whether the event happened: 0/1, or dead/alive."),
    click.option("--event-value", metavar="VALUE", help="Value of --event where it happened, if not 1 or dead."),
    click.option("--entry", metavar="COLUMN", help="Survival: when observation began, if not at 0."),
    click.option("--counts", metavar="COLUMN", help="Column of counts to predict. Or FILE:COLUMN."),
    click.option("--exposure", metavar="COLUMN", help="What the counts are proportional to: time, library size."),
    click.option("--outcome-table", type=FILE, help="Second table with the outcome, joined by sample id."),
    click.option("--outcome-id", metavar="COLUMN", help="Its column of sample ids. Default: the first."),
    click.option("--classes", type=NAMES, metavar="A,B", help="Keep only samples of these classes."),
    click.option("--exclude", type=NAMES, metavar="A,B", help="Columns to leave out."),
)
table_options = together(
    click.option("--id-column", metavar="COLUMN", help="Column of sample ids; with --samples columns, of features."),
    click.option("--samples", type=click.Choice(["rows", "columns"]), default="rows", show_default=True),
    click.option(
        "--missing", type=click.Choice(["error", "drop_samples", "drop_features", "impute"]), default="error",
        show_default=True, help="What to do about missing values.",
    ),
    click.option("--categorical", type=NAMES, metavar="A,B", help="Columns of numbers to read as categories."),
    click.option("--delimiter", metavar="CHAR", help="Delimiter of text files. Default: detected."),
    click.option("--trust", is_flag=True, help="Read compressed files of any ratio; above 100 may exhaust memory."),
)  # fmt: skip
similarity_options = together(
    click.option(
        "--network", type=FILE,
        help="Features are similar if their distances to the hubs agree: BioGRID, STRING, GraphML or edge list.",
    ),
    click.option(
        "--coordinates", type=FILE,
        help="Features are similar if close: names, then coordinates, or chromosome and position; or .map, .bim.",
    ),
    click.option("--lonlat", is_flag=True, help="The coordinates are longitude and latitude."),
    click.option(
        "--bandwidth", type=Number(min=0, min_open=True), metavar="DISTANCE",
        help="Distance up to which features are similar: base pairs, km (--lonlat), … Default: from the data.",
    ),
    click.option(
        "--groups", type=FILE, help="Features are similar if in one group: columns feature, group; or gene sets, .gmt."
    ),
    click.option("--rank", type=POSITIVE, metavar="D", help="Rank of the similarity: a set has at most D features."),
)  # fmt: skip
cluster_option = click.option(
    "--cluster", metavar="ADDRESS", help="Run on this Dask scheduler, such as tcp://10.0.0.1:8786."
)
run_options = together(
    click.option("--seed", type=Whole(0, 2**32 - 1), default=0, show_default=True),
    click.option("--jobs", type=Whole(min=-1), callback=_not_zero, help="Processes for comparisons. -1: all cores."),
)
output_options = together(
    click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    click.option("--quiet", "-q", is_flag=True, help="Nothing on stderr but errors."),
)


def split_outcome(options: dict[str, Any]) -> None:
    """Split FILE:COLUMN, of an outcome or a column that belongs to it, into the second table and its column."""
    for name in ("outcome", "time", "event", "entry", "counts", "exposure"):
        file, colon, column = (options[name] or "").rpartition(":")
        if not (colon and column):
            continue
        if not Path(file).is_file():
            if Path(file).suffix.lower() in (".csv", ".tsv", ".txt", ".tab", ".parquet", ".gz"):
                raise click.UsageError(f"--{name}: there is no file {file}")
            continue
        if options["outcome_table"] not in (None, file):
            files = f"{options['outcome_table']} and {file}"
            raise click.UsageError(f"--{name}: all columns of an outcome must be in one file, got {files}")
        options[name], options["outcome_table"] = column, file


def check_outcome(options: Mapping[str, Any]) -> None:
    """Require exactly one kind of outcome, with the options it needs."""
    given = [f"--{name}" for name in ("outcome", "time", "counts") if options[name]]
    if len(given) != 1:
        said = f"{' and '.join(given)} exclude each other" if given else "the outcome is missing"
        raise click.UsageError(f"{said}: give --outcome COLUMN, or --time and --event, or --counts")
    if options["outcome_id"] and not options["outcome_table"]:
        raise click.UsageError("--outcome-id needs --outcome-table")
    for name, other in (("event", "time"), ("event_value", "event"), ("entry", "time"), ("exposure", "counts")):
        if options[name] is not None and options[other] is None:
            raise click.UsageError(f"--{name.replace('_', '-')} needs --{other}")
    if options["time"] and not options["event"]:
        raise click.UsageError("--time needs --event, the column that says whether the event happened then")
    if options["task"] and not options["outcome"]:
        raise click.UsageError("--task needs --outcome")
    for one, other in (("time", "event"), ("time", "entry"), ("event", "entry"), ("counts", "exposure")):
        if options[one] and options[one] == options[other]:
            raise click.UsageError(f"--{one} and --{other} need different columns, got {options[one]!r} for both")


def check_similarity(options: Mapping[str, Any]) -> None:
    """Allow at most one source of similarity."""
    given = [f"--{name}" for name in ("network", "coordinates", "groups") if options[name]]
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} exclude each other; give one source of similarity")
    for name in ("lonlat", "bandwidth"):
        if options[name] and not options["coordinates"]:
            raise click.UsageError(f"--{name} needs --coordinates")
    if options["rank"] and not given:
        raise click.UsageError("--rank needs --network, --coordinates or --groups")


def check_methods(names: tuple[str, ...], option: str) -> None:
    """Reject unknown methods."""
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise click.UsageError(f"{option}: no method {unknown[0]!r}; choose from {', '.join(METHODS)}")


def check_select(options: Mapping[str, Any]) -> None:
    """Reject combinations of options that are wrong for any data."""
    check_outcome(options)
    check_similarity(options)
    check_methods(options["compare"] or (), "--compare")
    if options["size"] and options["expected_size"]:
        raise click.UsageError(
            "--size and --expected-size exclude each other: a set of that size, or a prior mean of the size"
        )
    if (options["costs"] is None) != (options["budget"] is None):
        raise click.UsageError("--costs and --budget belong together: the price of each feature, and of all")
    for name, value in (("size", options["size"]), ("choose", options["choose"] == "probability")):
        if options["budget"] is not None and value:
            raise click.UsageError(f"--budget and --{name} exclude each other: a budget decides the size of a panel")


def check_compare(options: Mapping[str, Any]) -> None:
    """Check the options of `compare`; without --size, the first method must choose its own."""
    check_outcome(options)
    check_similarity(options)
    methods = options["methods"]
    check_methods(methods, "--methods")
    if not methods:
        raise click.UsageError("--methods: give at least one")
    if options["size"] is None and methods[0] not in SIZED_BY_THEMSELVES:
        raise click.UsageError(f"--size: {methods[0]} cannot choose the number of features; give a size")
