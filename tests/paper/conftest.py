"""Where the experiments read: the real data if VARIEGATE_DATA says where they are, made-up files otherwise."""

import os

import pytest

from stand_ins import write_stand_ins


@pytest.fixture(scope="session")
def stand_ins(tmp_path_factory):
    return write_stand_ins(tmp_path_factory.mktemp("stand-ins"))


@pytest.fixture(scope="session")
def paper_data(stand_ins):
    return os.environ.get("VARIEGATE_DATA") or stand_ins
