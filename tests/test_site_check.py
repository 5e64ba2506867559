"""The check of the built site notices what it is for."""

import importlib.util

import pytest

from pages import ROOT

PATH = ROOT / "docs" / "check_site.py"
LINKS = "".join(
    f'<a href="{page}">{page}</a>'
    for page in ("howto/csv.html", "howto/network.html", "howto/sklearn.html", "paper.html", "messages.html")
)


@pytest.fixture(scope="module")
def check():
    spec = importlib.util.spec_from_file_location("check_site", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def site(tmp_path):
    """A small site in which all is well, but for the reference."""
    (tmp_path / "howto").mkdir()
    for name in ("howto/csv", "howto/network", "howto/sklearn", "paper", "messages"):
        (tmp_path / f"{name}.html").write_text('<p id="here">text</p>')
    (tmp_path / "index.html").write_text(LINKS)
    return tmp_path


def found(check, site):
    return [problem for problem in check.problems(site) if not problem.startswith("the reference lacks")]


def test_a_good_site(check, site):
    assert found(check, site) == []


@pytest.mark.parametrize(
    ("html", "problem"),
    [
        ('<a href="nowhere.html">x</a>', "index.html: nowhere.html leads nowhere"),
        ('<a href="paper.html#there">x</a>', "index.html: paper.html#there leads nowhere"),
        ('<img src="lost.png">', "index.html: lost.png leads nowhere"),
        ('<script src="https://cdn.example/x.js"></script>', "index.html: fetches https://cdn.example/x.js"),
        ('<link rel="stylesheet" href="//cdn.example/x.css">', "index.html: fetches //cdn.example/x.css"),
    ],
)
def test_problems_are_noticed(check, site, html, problem):
    (site / "index.html").write_text(LINKS + html)
    assert found(check, site) == [problem]


def test_links_to_other_sites_are_not_followed(check, site):
    (site / "index.html").write_text(LINKS + '<a href="https://example.org/x">x</a><a href="paper.html#here">x</a>')
    assert found(check, site) == []


def test_a_remote_font_is_noticed(check, site):
    (site / "style.css").write_text('@font-face { src: url("https://fonts.example/a.woff"); }')
    assert found(check, site) == ["style.css: fetches a remote url"]


def test_a_closed_door_is_noticed(check, site):
    (site / "index.html").write_text(LINKS.replace("paper.html", "messages.html"))
    assert found(check, site) == ["index.html: 'I want the paper' is more than two clicks away"]


def test_a_name_without_a_place_in_the_reference_is_noticed(check, site):
    assert "the reference lacks LowRankDPP" in check.problems(site)
    (site / "paper.html").write_text('<dt id="variegate.dpp.LowRankDPP">x</dt>')
    assert "the reference lacks LowRankDPP" not in check.problems(site)
