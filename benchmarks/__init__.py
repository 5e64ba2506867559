"""Speed and memory side by side with the peers; `make bench` prints the tables and keeps them in RESULTS.md."""
