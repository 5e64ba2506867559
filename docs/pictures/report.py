"""The README's picture of a report: runs the README's command and takes a screenshot of the page in Chromium.

python docs/pictures/report.py
"""

import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from browsers import HOW_TO_GET_ONE, find_browser, started_browser  # noqa: E402
from pages import blocks, run_bash  # noqa: E402

IMAGE = ROOT / "docs" / "images" / "report.png"
WIDTH, MARGIN = 900, 24


def write_report(folder: Path) -> Path:
    """Run the README's commands in an empty folder; return the page."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = [block for block in blocks(readme) if block.language == "bash"]
    run_bash(block.body, "README.md", folder)
    return folder / "variegate-out" / "report.html"


def photograph(page: Path, image: Path) -> None:
    """The top of a page, down to the end of what to measure."""
    path = find_browser()
    if path is None:
        sys.exit(HOW_TO_GET_ONE)
    with started_browser(path) as browser:
        opened = browser.new_page(viewport={"width": WIDTH, "height": 1000}, color_scheme="light")
        opened.goto(page.as_uri())
        opened.wait_for_selector("html[data-ready]", state="attached")
        box = opened.locator("#panel").bounding_box()
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": box["y"] + box["height"] + MARGIN}
        opened.screenshot(path=image, clip=clip, full_page=True)
    Image.open(image).quantize(64).save(image, optimize=True)  # a README should be light


def main() -> None:
    """Write the picture."""
    with tempfile.TemporaryDirectory() as folder:
        photograph(write_report(Path(folder)), IMAGE)
    print(f"wrote {IMAGE.relative_to(ROOT)}, {IMAGE.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
