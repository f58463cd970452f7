"""`vtr demo --videos`: from video files to search in them, in minutes on a laptop."""

from datetime import UTC, datetime
from pathlib import Path

from pipelines.demo.films import NUM_TEST, NUM_VALIDATION, render
from pipelines.demo.flags import DemoFlags
from pipelines.demo.results import learning_curve_file, mlflow_page
from vtr_core.errors import ConfigError
from vtr_core.uris import below

PRESET = "capsule-howto-tiny"
QUERY = "a green star moves to the right while a high tone sounds"
_CHANGES = {"batch.clips_per_video": 1, "training.epochs": 24, "training.validate_every": 8}
"""Changed settings, since films have one caption each and are few."""


def demo_from_videos(flags: DemoFlags) -> None:
    """Render, extract, train, evaluate, index, search, and print the next steps."""
    from pipelines.evaluate.flags import EvaluateFlags
    from pipelines.evaluate.retrieval import evaluate
    from pipelines.index.command import IndexFlags, index
    from pipelines.ray_session import connect
    from pipelines.search.command import main as search
    from pipelines.train.command import TrainFlags, train
    from vtr_core.config.override import override
    from vtr_core.run.presets import preset

    changes = {**_CHANGES, "scaling.workers": flags.workers, "seed": flags.seed}
    config = override(preset(PRESET), changes)
    if flags.films <= NUM_TEST + NUM_VALIDATION + config.batch.videos:
        least = NUM_TEST + NUM_VALIDATION + config.batch.videos + 1
        raise ConfigError(f"--films is {flags.films}; {least} at least give a batch to train on beside those for test")
    connect(config.scaling.cpus)
    data = flags.data or f"data/films-{flags.films}-{flags.seed}"
    out = flags.out or f"runs/demo-videos-{datetime.now(UTC).strftime('%Y%m%d-%H%M%S')}"
    _extracted(data, flags)
    print(f"\n3/5 training {PRESET} with {flags.workers or 'no'} workers")
    finished = train(config, TrainFlags(data=data, out=out))
    print(f"\n4/5 retrieval among {NUM_TEST} films that training never saw\n")
    evaluate(EvaluateFlags(finished.checkpoint, (below(data, "test"),)))
    print("\n5/5 an index of them, and a search\n")
    index(IndexFlags(finished.checkpoint, below(data, "test"), below(out, "index")))
    page = below(out, "hits.html")
    search([QUERY, "--index", below(out, "index"), "--page", page])
    print(
        f"""
pictures        {page}
learning curve  {learning_curve_file(data, finished)}
checkpoint      {finished.checkpoint}
MLflow          {mlflow_page(finished)}

your own data   a table of clips, clips.csv, with the columns id, caption, video; the last one names video files
                vtr extract videos --captions clips.csv --splits train .8 val .1 test .1 --thumbnails \\
                    --out data/mine
                vtr train {PRESET} --data data/mine --out runs/mine \\
                    --batch.clips-per-video 1 --training.epochs 24
                vtr evaluate runs/mine --data data/mine/test
"""
    )


def _extracted(data: str, flags: DemoFlags) -> None:
    """Extract the films' features into a data set; an existing one is reused."""
    from pipelines.extract.command import extract
    from pipelines.extract.flags import ExtractFlags
    from pipelines.ingest.report import report
    from vtr_core.data.manifest import splits

    if splits(data):
        print(f"1/5, 2/5 {data} is there already")
        return
    films = Path(f"{data}-videos")
    print(f"1/5 {flags.films} films of coloured shapes are rendered to {films}", flush=True)
    table = render(films, flags.films, flags.seed)
    print("\n2/5 what EfficientNet-Lite0 sees and log-mel bands hear of them, to Parquet shards")
    report(extract(ExtractFlags(str(films), data, captions=str(table), thumbnails=True)))
