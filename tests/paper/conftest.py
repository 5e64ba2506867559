"""Where the experiments read: the real data if VARIEGATE_DATA says where they are, made-up files otherwise."""

import os
from pathlib import Path

import pytest

from stand_ins import write_stand_ins


@pytest.fixture(scope="session")
def stand_ins(tmp_path_factory):
    return write_stand_ins(tmp_path_factory.mktemp("stand-ins"))


@pytest.fixture(scope="session")
def paper_data(stand_ins):
    return os.environ.get("VARIEGATE_DATA") or stand_ins


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
