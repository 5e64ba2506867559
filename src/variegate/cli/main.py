"""The command group, and the one place where failures become exit codes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence

import click

from .. import __version__
from .commands import compare, demo, predict, report, select
from .messages import FAILED, INTERRUPTED, OK, USAGE, explained, fail
from .signals import interruptible

EXITS = "Exit status: 0 success; 1 reading, fitting or writing failed; 2 usage error; 130 interrupted."


class Ordered(click.Group):
    """A group that lists its commands in pipeline order."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order they were added."""
        return list(self.commands)


@click.group(
    cls=Ordered, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}, epilog=EXITS
)
@click.version_option(__version__, prog_name="variegate")
def cli() -> None:
    """Select features that predict an outcome and differ from each other: from a table to a report.

    Start with: variegate select TABLE --outcome COLUMN, or try variegate demo.
    """


for command in (select, predict, report, compare, demo):
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; every failure is one line on stderr."""
    try:
        with interruptible():
            cli.main(
                args=None if arguments is None else list(arguments),
                prog_name="variegate",
                standalone_mode=False,
                obj=time.perf_counter(),
            )
        if sys.stdout is not None:  # the caller may have closed it
            sys.stdout.flush()
        return OK
    except (KeyboardInterrupt, click.Abort):
        fail("interrupted; nothing was written")
        return INTERRUPTED
    except click.UsageError as error:
        return _wrong_usage(error)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        fail(error.format_message())
        return error.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader is gone: discard the rest
        return FAILED
    except Exception as error:
        if os.environ.get("VARIEGATE_DEBUG"):
            raise
        fail(explained(error))
        return FAILED


def _wrong_usage(error: click.UsageError) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return USAGE
    command = error.ctx.command_path if error.ctx else "variegate"
    fail(f"{error.format_message().rstrip('.')}. See {command} --help.")
    return USAGE
