"""Run a command on a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

CONNECTING = "10s"


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Run the body on the cluster with this scheduler, or in this process if `address` is None."""
    if address is None:
        yield
        return
    from joblib import parallel_config

    from ..data import optional, shortened
    from .messages import Failure

    distributed = optional("distributed", "cluster")
    try:
        client = distributed.Client(address, timeout=CONNECTING)
    except (OSError, ValueError) as error:
        raise Failure(
            f"--cluster: no Dask scheduler at {address} ({shortened(str(error), 120)}); start one "
            "with `dask scheduler`, and workers with `dask worker ADDRESS`"
        ) from None
    with client, parallel_config(backend="dask"):
        yield
