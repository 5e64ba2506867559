"""What a run was asked: the command line, a TOML file and run.json make and read the same value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

METHODS = (
    "variegate", "most_probable", "bernoulli_dpp", "dpp_bernoulli", "spike_slab", "omp", "lasso", "elastic_net",
    "forward_evidence", "forward_score", "univariate", "random", "mrmr",
)  # fmt: skip
SIZED_BY_THEMSELVES = METHODS[:5]
SIMILARITIES = ("network", "coordinates", "labels")
ROLES = ("outcome", "time", "event", "entry", "exposure")  # of columns that are not features
TABLES = (".csv", ".tsv", ".txt", ".tab", ".parquet", ".gz")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The options of `variegate select`, under the same names.

    Columns of the outcome may be FILE:COLUMN, all in one file: this second table is joined by sample id. `event` may
    be COLUMN=VALUE, the value where the event happened.

    >>> Settings(table="x.csv", time="months", event="status=2").columns
    {'time': 'months', 'event': 'status'}
    """

    table: str
    outcome: str | None = None
    task: str | None = None
    time: str | None = None
    event: str | None = None
    entry: str | None = None
    exposure: str | None = None
    classes: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    always_include: tuple[str, ...] = ()
    id_column: str | None = None
    samples: str = "rows"
    missing: str = "error"
    categorical: tuple[str, ...] = ()
    network: str | None = None
    coordinates: str | None = None
    bandwidth: float | None = None
    labels: str | None = None
    screen: int | None = None
    size: int | None = None
    choose: str = "prediction"
    costs: str | None = None
    budget: float | None = None
    expected_size: float | None = None
    diversity: float = 1.0
    compare: tuple[str, ...] = ()
    frontier: bool = False
    max_iter: int | None = None
    seed: int = 0
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        """Reject what is wrong for any data."""
        for wrong in (*_of_outcome(self), *_of_similarity(self), *_of_panel(self), *_of_methods(self.compare)):
            raise ValueError(wrong)

    @property
    def second(self) -> str | None:
        """The second table."""
        return next((file for file, _ in map(split, self._outcomes.values()) if file), None)

    @property
    def columns(self) -> dict[str, str]:
        """The columns that are not features, by role."""
        found = {role: split(given)[1] for role, given in self._outcomes.items()}
        if self.event is not None:
            found["event"] = found["event"].partition("=")[0]
        return found

    @property
    def happened(self) -> str | None:
        """The value of the event's column where it happened."""
        return None if self.event is None else split(self.event)[1].partition("=")[2] or None

    @property
    def outcome_name(self) -> str:
        """The outcome in the record and the report."""
        columns = self.columns
        return columns["outcome"] if self.outcome else f"{columns['time']} until {columns['event']}"

    @property
    def _outcomes(self) -> dict[str, str]:
        return {role: value for role in ROLES if (value := getattr(self, role)) is not None}

    def files(self) -> dict[str, str]:
        """Return the files that a run reads, by what they are."""
        return files_of(asdict(self))


def files_of(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the files that a run with these settings reads, by what they are."""
    found = {name: settings.get(name) for name in ("table", *SIMILARITIES, "costs")}
    second = next((file for role in ROLES for file, _ in [split(str(settings.get(role)))] if file), None)
    return {name: str(path) for name, path in {**found, "outcome": second}.items() if path}


def split(given: str) -> tuple[str | None, str]:
    """Split FILE:COLUMN; without such a file, a name may have a colon."""
    file, colon, column = given.rpartition(":")
    return (file, column) if colon and column and Path(file).is_file() else (None, given)


def _of_outcome(asked: Settings) -> Iterator[str]:
    given = asked._outcomes
    for role, value in given.items():
        file, column = value.rpartition(":")[::2]
        if file and column and not Path(file).is_file() and Path(file).suffix.lower() in TABLES:
            yield f"--{role}: there is no file {file}"
    files = list(dict.fromkeys(file for file, _ in map(split, given.values()) if file))
    if len(files) > 1:
        yield f"all columns of an outcome must be in one file, got {' and '.join(files)}"
    if ("outcome" in given) == ("time" in given):
        said = "--outcome and --time exclude each other" if "time" in given else "the outcome is missing"
        yield f"{said}: give --outcome COLUMN, or --time and --event"
    if ("time" in given) != ("event" in given):
        yield "--time needs --event, the column that says whether the event happened then, and --event needs --time"
    if "entry" in given and "time" not in given:
        yield "--entry needs --time"
    if "exposure" in given and asked.task != "counts":
        yield "--exposure needs --task counts"
    if asked.task and "outcome" not in given:
        yield "--task needs --outcome"
    columns = asked.columns
    for role, other in (("time", "event"), ("time", "entry"), ("event", "entry"), ("outcome", "exposure")):
        if role in columns and columns[role] == columns.get(other):
            yield f"--{role} and --{other} need different columns, got {columns[role]!r} for both"


def _of_similarity(asked: Settings) -> Iterator[str]:
    given = [f"--{name}" for name in SIMILARITIES if getattr(asked, name)]
    if len(given) > 1:
        yield f"{' and '.join(given)} exclude each other; give one source of similarity"
    if asked.bandwidth and not asked.coordinates:
        yield "--bandwidth needs --coordinates"


def _of_panel(asked: Settings) -> Iterator[str]:
    if asked.size and asked.expected_size:
        yield "--size and --expected-size exclude each other: a set of that size, or a prior mean of the size"
    if (asked.costs is None) != (asked.budget is None):
        yield "--costs and --budget belong together: the price of each feature, and of all"
    for name, value in (("size", asked.size), ("choose", asked.choose == "probability")):
        if asked.budget is not None and value:
            yield f"--budget and --{name} exclude each other: a budget decides the size of a panel"


def _of_methods(names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        if name not in METHODS:
            yield f"no method {name!r}; choose from {', '.join(METHODS)}"
