"""Pictures of the documents from real runs: `python -m docs.make.pictures FOLDER [NAME…]`.

FOLDER keeps data, runs and pages between calls; the pictures of these names, or all, are overwritten in docs/pictures.
Needs Chromium of the system. `explanation` is a page of `vtr explain`, `mlflow-run` and `mlflow-sweep`
pages of MLflow, and `learning-curve` is a figure that a command writes.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from urllib.request import urlopen

from docs.make.chromium import chromium, keep

PICTURES = Path(__file__).parents[1] / "pictures"
BIN = Path(sys.executable).parent
MOST_BYTES = 150_000
"""Of one picture."""
STORE = "sqlite:///mlflow.db"
PORT = 5057
WIDE, ASSISTANT = 1500, 388
"""Widths in pixels of MLflow's page, and of its assistant."""
WORLD = ("world", "ingest synthetic --num-clips 3000 --splits train .8 val .1 test .1 --workers 0 --out world")
FIRST = ("runs/first", "train capsule-howto-tiny --data world --out runs/first --scaling.workers 0")


SWEEP = (
    "runs/sweep",
    "sweep capsule-howto-tiny --data world --out runs/sweep --num-samples 8 --max-concurrent 1 --scaling.workers 0 "
    "--training.epochs 4",
)
DESCRIBED = (
    (
        "described",
        "ingest synthetic --records videos --num-videos 800 --splits train .8 val .1 test .1 --workers 0 "
        "--out described",
    ),
    ("described/concepts", "concepts described --processes 1"),
    ("runs/dual", "train hybrid-msrvtt-tiny --data described --out runs/dual --scaling.workers 0"),
)
Made = Callable[[Path], bytes]


def main() -> None:
    """Make the pictures that are named, or all of them."""
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in ALL.items():
        if name in (sys.argv[2:] or ALL):
            keep(make(folder), PICTURES / f"{name}.png", MOST_BYTES)


def made(folder: Path, *commands: tuple[str, str]) -> None:
    """Run each command, given with what it makes, unless that is there."""
    for what, command in commands:
        if not (folder / what).exists():
            subprocess.run([BIN / "vtr", *command.split()], cwd=folder, check=True)


def explanation(folder: Path) -> bytes:
    """Why a dual encoder found its best hits."""
    made(folder, *DESCRIBED)
    if not (folder / "why").exists():
        asked = ["--query", "a young woman in the kitchen", "--out", "why"]
        command = [BIN / "vtr", "explain", "runs/dual", "--data", "described/test", *asked]
        subprocess.run(command, cwd=folder, check=True)
    (page,) = (folder / "why").glob("*.html")
    return of_html(page.read_text().replace(f"{folder}/", ""))


def learning_curve(folder: Path) -> bytes:
    """Loss, and R@10 of validation captions in percent with chance, by step."""
    from pipelines.report.figures import blank_figure, name_axes
    from pipelines.report.logged_run import write_figure
    from vtr_core.data.manifest import Manifest
    from vtr_core.storage import locate
    from vtr_core.tracking.run_log import read_lines

    made(folder, WORLD, FIRST)
    points = read_lines(locate(str(folder / "runs/first/metrics.jsonl")))
    figure = blank_figure(9, 3.6)
    left, right = figure.subplots(1, 2)
    for axes, name in ((left, "train/loss"), (right, "val/t2v/r10")):
        curve = [(point["step"], point[name]) for point in points if name in point]
        axes.plot(*zip(*curve, strict=True), marker="." if len(curve) < 30 else "", color="#4c72b0")
        axes.set_ylim(bottom=0)
    chance = min(100.0, 100 * 10 / Manifest.load(str(folder / "world/val")).rows)
    right.axhline(chance, color="#c44e52", linestyle="--", label="chance")
    right.legend(fontsize=8)
    name_axes(left, "step", "", "training: loss")
    name_axes(right, "step", "%", "validation: R@10, text → video")
    write_figure(locate(str(folder / "curve.png")), figure)
    return (folder / "curve.png").read_bytes()


def mlflow_run(folder: Path) -> bytes:
    """A run in MLflow, its metrics by step."""
    made(folder, WORLD, FIRST)
    return of_mlflow(folder, "runs/first/run.json", "/model-metrics", ".plot-container", charts="train/loss$|val/t2v/r")


def mlflow_sweep(folder: Path) -> bytes:
    """A sweep in MLflow, its figures and tables."""
    made(folder, WORLD, SWEEP)
    return of_mlflow(folder, "runs/sweep/sweep.json", "", "text=best_trial")


def of_html(html: str, height: int = 800) -> bytes:
    """The first screen of a page, 1100 pixels wide."""
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1100, "height": height})
        page.set_content(html)
        content: bytes = page.screenshot()
    return content


def of_mlflow(folder: Path, record: str, tab: str, shown: str, charts: str | None = None) -> bytes:
    """MLflow's page of the run that a record in the folder names, when what is `shown` has been drawn.

    charts: which charts, by their names. Without the panel of MLflow's assistant at the right.
    """
    from mlflow import MlflowClient

    run_id = json.loads((folder / record).read_text())["mlflow_run_id"]
    run = MlflowClient(f"sqlite:///{folder}/mlflow.db").get_run(run_id).info
    address = f"http://127.0.0.1:{PORT}/#/experiments/{run.experiment_id}/runs/{run.run_id}{tab}"
    with mlflow_ui(folder), chromium() as browser:
        page = browser.new_page(viewport={"width": WIDE, "height": 800})
        page.goto(address)
        page.wait_for_selector(shown, timeout=300_000)
        if charts is not None:
            page.get_by_placeholder("Search metric charts").fill(charts)
        page.wait_for_timeout(10_000)  # further charts, and their animations
        content: bytes = page.screenshot(clip={"x": 0, "y": 0, "width": WIDE - ASSISTANT, "height": 800})
    return content


@contextmanager
def mlflow_ui(folder: Path) -> Iterator[None]:
    """MLflow's server on the folder's store, while it answers."""
    command = [BIN / "mlflow", "ui", "--backend-store-uri", STORE, "--port", str(PORT)]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not answers(f"http://127.0.0.1:{PORT}/health"):
            if server.poll() is not None:
                raise SystemExit("mlflow ui ended; is its port taken?")
            time.sleep(1)
        yield
    finally:
        server.terminate()
        server.wait()


def answers(url: str) -> bool:
    """Whether a page can be had."""
    try:
        with urlopen(url, timeout=5) as found:
            return bool(found.status == 200)
    except OSError:
        return False


ALL: Mapping[str, Made] = MappingProxyType(
    {
        "explanation": explanation,
        "learning-curve": learning_curve,
        "mlflow-run": mlflow_run,
        "mlflow-sweep": mlflow_sweep,
    }
)


if __name__ == "__main__":
    main()
