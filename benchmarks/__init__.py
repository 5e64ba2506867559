"""Benchmarks against other packages; `make bench` prints the tables and writes them to RESULTS.md."""
