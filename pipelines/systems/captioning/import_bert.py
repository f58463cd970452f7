"""`vtr import bert FILE`: BERT's weights as the language part of a captioner, for a data set's words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import tyro

from pipelines.arguments import run_import

if TYPE_CHECKING:
    from torch import Tensor

    from vtr_core.data.manifest import Manifest
    from vtr_core.run.config import TrainConfig


PROJECT = "bert"
_NAMES = (
    ("embeddings.", "enc_txt.emb_txt."),
    ("encoder.layer.", "trsfr.layer."),
    ("cls.predictions.", "fc_mtm.predictions."),
)
_OLD = (("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias"))
"""Names of norms in the first published files."""


@dataclass(frozen=True)
class BertFlags:
    """Flags of `vtr import bert`."""

    file: Annotated[str, tyro.conf.Positional]
    """BERT's file of weights, with its head for masked words: .safetensors, or by torch.save."""
    pieces: str = tyro.MISSING
    """BERT's vocab.txt, one piece of a word on each line."""
    data: str = tyro.MISSING
    """Data set of frames or of whole videos to train on, whose words the captioner is to have."""
    out: str = tyro.MISSING
    """New checkpoint folder or URI, for vtr train … --init."""
    heads: int = 12
    """Attention heads, which the weights do not tell."""
    json: bool = False
    """Print the result as JSON, alone on standard output."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    run_import(argv, PROJECT, BertFlags, import_bert)


def import_bert(flags: BertFlags) -> None:
    """Write the checkpoint of a captioner whose language part is BERT's; what reads frames is drawn at random."""
    from pipelines.systems.captioning.captioner_weights import language_weights, word_rows
    from vtr_core.backbones.weights import read_state
    from vtr_core.data.manifest import Manifest, data_set
    from vtr_core.data.shards.word_table import WordTable
    from vtr_core.run.build import build_model
    from vtr_core.storage import check_writable, locate
    from vtr_core.systems.captioning.config import CaptionerConfig
    from vtr_core.train.checkpoint.checkpoint_files import Checkpoint, save_checkpoint

    out = locate(flags.out)
    check_writable(out)
    manifest, state = Manifest.load(data_set(flags.data, "train")), lavender_names(read_state(flags.file))
    config, words = _config(flags, state, manifest), WordTable.load(manifest).vocabulary
    assert isinstance(config.model, CaptionerConfig)
    language = language_weights(state, word_rows(words, flags.pieces, flags.data), config.model.max_tokens)
    weights = {**build_model(config.model).state_dict(), **language}
    save_checkpoint(out, Checkpoint.imported(PROJECT, config, weights, words))
    name = "caption-swin-msrvtt" if manifest.schema.kind == "frames" else "caption-msrvtt-published"
    print(f"checkpoint  {out}: {len(language)} of {len(weights)} tensors are BERT's")
    print(f"next        vtr train {name} --data {flags.data} --init {flags.out} --model.layout bert")


def lavender_names(state: "Mapping[str, Tensor]") -> "dict[str, Tensor]":
    """The tensors under LAVENDER's names, whose text side is BERT."""
    renamed = {}
    for name, value in state.items():
        own = name.removeprefix("bert.")
        for theirs, ours in _OLD:
            own = own.replace(theirs, ours)
        for theirs, ours in _NAMES:
            own = ours + own.removeprefix(theirs) if own.startswith(theirs) else own
        renamed[own] = value
    return renamed


def _config(flags: BertFlags, state: "Mapping[str, Tensor]", manifest: "Manifest") -> "TrainConfig":
    """A captioner of the file's sizes with the data set's words.

    Of a data set of frames it has a feature of one value in the place of the backbone.
    """
    from pipelines.systems.captioning.captioner_weights import bert_layout
    from vtr_core.config.override import ModelInputs, override
    from vtr_core.run.presets import preset

    features = {feature.name: feature.dim for feature in manifest.schema.features} or {"video": 1}
    inputs = ModelInputs(
        features=features, num_words=manifest.vocabulary.num_words, max_words=manifest.schema.max_words
    )
    feature = "video" if "video" in features else next(iter(features))
    of_data = {"model.feature": feature, "model.inputs": inputs.model_dump()}
    return override(preset("caption-msrvtt"), {**bert_layout(state, flags.heads, flags.file), **of_data})
