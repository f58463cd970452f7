"""What MLflow's page of a registered model says of it: what goes in, what comes out, and how to ask for it."""

from dataclasses import dataclass

from vtr_core.config.captioner import CaptionerConfig
from vtr_core.config.model import ModelConfig, reads_images, reads_videos


@dataclass(frozen=True)
class _Use:
    text: str
    given: str
    """The table of an example."""
    asked: str
    """The column of what comes out."""
    command: str
    """What evaluates the model, but for its name."""


_CLIPS = _Use(
    "Embeds captions and clips in one space. In: a table with a column `caption`, or a column of feature vectors for "
    "each of some features, or both; out: a column of vectors for each.",
    '{"caption": ["a man cooks rice"]}',
    "text",
    "--data URI",
)
_VIDEOS = _Use(
    "Embeds captions in the space, or the spaces, of whole videos. In: a table with a column `caption`; out: a column "
    "of vectors for each space.",
    '{"caption": ["a man cooks rice"]}',
    "",
    "--data URI",
)
_IMAGES = _Use(
    "Encodes images of faces. In: a table with a column `pixels`, values from 0 to 255 row by row; out: `encoding`.",
    '{"pixels": [pixels]}',
    "encoding",
    "--task verification --data URI",
)
_FRAMES = _Use(
    "Describes videos. In: a table with the column of frame features, of each video a list of vectors; out: `caption`.",
    '{"FEATURE": [frames]}',
    "caption",
    "--task captioning --data URI",
)


def model_page(model: ModelConfig, name: str, alias: str) -> str:
    """The description, in Markdown, of models registered as `name`; `alias` is of their newest."""
    use = _use(model)
    given = use.given.replace("FEATURE", model.feature) if isinstance(model, CaptionerConfig) else use.given
    column = f'["{use.asked}"]' if use.asked else ""
    lines = [
        use.text,
        "",
        "```",
        f'model = mlflow.pyfunc.load_model("models:/{name}@{alias}")',
        f"model.predict(pandas.DataFrame({given})){column}",
        "```",
        "",
        f"`vtr evaluate models:/{name}@{alias} {use.command}`",
        "",
        f'`pip install -r` what `mlflow.pyfunc.get_model_dependencies("models:/{name}@{alias}")` names is enough: the '
        "model carries the code that loads it, of the vtr that the version's description names. An installed vtr goes "
        "first.",
    ]
    return "\n".join(lines) + "\n"


def _use(model: ModelConfig) -> _Use:
    if isinstance(model, CaptionerConfig):
        return _FRAMES
    if reads_images(model):
        return _IMAGES
    return _VIDEOS if reads_videos(model) else _CLIPS
