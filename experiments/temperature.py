"""`python -m experiments.temperature`."""

from experiments.paper.command import run_command

if __name__ == "__main__":
    run_command("temperature")
