"""Pictures of the documents from a real run: `python -m docs.make.pictures FOLDER`, with Chromium of the system.

FOLDER keeps the data, the run and the page between calls; the picture in docs/pictures is overwritten.
"""

import shutil
import subprocess
import sys
from pathlib import Path

PICTURES = Path(__file__).parents[1] / "pictures"
VTR = Path(sys.executable).parent / "vtr"
MAX_BYTES = 300_000
"""Of one picture."""
COMMANDS = (
    ("data/world", "ingest synthetic --splits train .8 val .1 test .1 --out data/world"),
    ("runs/first", "train capsule-howto-tiny --data data/world --out runs/first --scaling.workers 0"),
    ("page", "explain runs/first --capsules --data data/world/val --out page"),
)
"""What a command makes, and the command."""


def main() -> None:
    """Run what has not been run in the folder, then photograph the page on capsules, its paths below the folder."""
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for made, command in COMMANDS:
        if not (folder / made).exists():
            subprocess.run([VTR, *command.split()], cwd=folder, check=True)
    (page,) = (folder / "page").glob("*.html")
    photograph(page.read_text().replace(f"{folder}/", ""), PICTURES / "capsules.png")


def photograph(html: str, file: Path) -> None:
    """The first screen of a page, 1100 x 800 pixels; SystemExit where Chromium is missing or the picture is large."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("Chromium is not installed: apt-get install chromium")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1100, "height": 800})
        page.set_content(html)
        page.screenshot(path=file)
        browser.close()
    if file.stat().st_size > MAX_BYTES:
        raise SystemExit(f"{file} has {file.stat().st_size:,} bytes; at most {MAX_BYTES:,}")


if __name__ == "__main__":
    main()
