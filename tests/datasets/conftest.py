"""Where the real data are, for the tests that need them."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_home():
    """The folder with the real data: VARIEGATE_DATA, or shared/data beside the checkout."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("VARIEGATE_DATA") or beside)
    if not folder.is_dir():
        pytest.skip(
            "REAL DATA NOT TESTED: no folder in VARIEGATE_DATA and no ../shared/data beside the checkout; "
            "the loaders' tests need it"
        )
    return folder
