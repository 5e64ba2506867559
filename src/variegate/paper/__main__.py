"""python -m variegate.paper NAME [--data DIR] [--out DIR] [--quick]."""

import argparse
import sys

from . import EXPERIMENTS, run_experiment


def main(arguments: list[str] | None = None) -> int:
    """Run one experiment; 0 if it went well."""
    parser = argparse.ArgumentParser(prog="python -m variegate.paper", description="The paper's experiments.")
    parser.add_argument("name", choices=list(EXPERIMENTS))
    parser.add_argument("--data", help="folder with the real data; VARIEGATE_DATA unless given")
    parser.add_argument("--out", help="folder for the results; paper/NAME unless given")
    parser.add_argument("--config", help="TOML file with other settings")
    parser.add_argument("--quick", action="store_true", help="few repeats, to see whether all is well")
    parser.add_argument("--jobs", type=int, dest="n_jobs", help="processes")
    parser.add_argument("--seed", type=int, default=0)
    given = vars(parser.parse_args(arguments))
    try:
        out = run_experiment(given.pop("name"), **given)
    except (ValueError, OSError, ImportError) as error:
        sys.stderr.write(f"variegate: {error}\n")
        return 1
    sys.stdout.write(f"{out / 'README.md'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
