"""`python -m experiments.genes`."""

from experiments.paper.command import run_command

if __name__ == "__main__":
    run_command("genes")
