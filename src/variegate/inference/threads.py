"""One BLAS thread for work on many small matrices."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

from threadpoolctl import threadpool_limits

P = ParamSpec("P")
Answer = TypeVar("Answer")


def one_blas_thread(function: Callable[P, Answer]) -> Callable[P, Answer]:
    """Run a function with one BLAS thread, some milliseconds dearer.

    On matrices with some dozens of rows threads wait for each other far longer than they compute.
    """
    return cast(Callable[P, Answer], threadpool_limits.wrap(limits=1, user_api="blas")(function))
