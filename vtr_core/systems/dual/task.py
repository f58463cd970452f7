"""Training of a dual encoder: triplet losses in each space, concept detection, and retrieval as validation."""

from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from vtr_core.data.batches.frames import frame_batch
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import row_groups
from vtr_core.data.reading.row_groups import Columns
from vtr_core.losses.granularity.granularity import embedding_margin, granularity_margin
from vtr_core.losses.share import Share
from vtr_core.nn.embeddings import TEXT, VIDEO, DualEmbeddings, Embeddings
from vtr_core.nn.precision import at_least_float32
from vtr_core.run.config import TrainConfig
from vtr_core.similarity import Similarity, cosine
from vtr_core.systems.dual.config import DualTripletConfig, HybridEncoderConfig
from vtr_core.systems.dual.evaluation import dual_metric_values, evaluate_dual
from vtr_core.systems.dual.loss import DualObjective
from vtr_core.systems.dual.model import HybridEncoder
from vtr_core.systems.dual.rows import embed_dual_rows
from vtr_core.systems.loss_tables import LossTables
from vtr_core.systems.task import MOST_ROWS, Compared, StepOutput
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.distributed.bare import bare
from vtr_core.train.distributed.gather import gather_dual, gather_keys, sum_shares, widest
from vtr_core.train.distributed.row_shares import contiguous_share


class DualEncodingTask:
    """L = L_lat + L_con over the whole batch; see `DualObjective`.

    tables: with the soft labels of the videos, where the model has a concept space.
    With `loss.granularity_margin` also L_b and L_mcl of captions and videos, by the cosine of the latent space, or of
    the concept scores where there is none.
    """

    def __init__(self, config: TrainConfig, rank: int, world: int, tables: LossTables) -> None:
        assert isinstance(config.model, HybridEncoderConfig)
        assert isinstance(config.loss, DualTripletConfig)
        assert (tables.concepts is None) == (config.model.num_concepts is None), "labels go with a concept space"
        self._config, self._model = config, config.model
        self._rank, self._world, self._concepts = rank, world, tables.concepts
        self._losses = DualObjective(config.loss, config.model.concept_similarity)
        self._margin = granularity_margin(config.loss.granularity_margin, tables.information)
        self.objective = self._losses if self._margin is None else nn.ModuleList([self._losses, self._margin])

    def step(self, model: nn.Module, columns: Columns, step: int, device: torch.device) -> StepOutput:
        """Embeds this worker's part, gathers the batch, and sums all workers' shares of the loss."""
        batch = frame_batch(columns, [self._model.feature]).to(device)
        embeddings, keys = gather_dual(model(batch), self._config.scaling.wire), gather_keys(batch.keys)
        share = Share(self._rank, self._world)
        losses = self._losses(embeddings, self._labels(keys.video), keys, share)
        _bare(model).note_ranges(widest(losses.ranges))
        space = embeddings.latent or embeddings.concept
        assert space is not None, "a dual encoder has a space"
        margin = embedding_margin(self._margin, space, keys, step, share)
        terms = {**losses.by_term, **margin.by_term}
        whole = sum(margin.by_term.values(), losses.total)
        total, *by_term = sum_shares(torch.stack([whole, *terms.values()])).unbind()
        metrics = {f"train/loss_{term}": value.detach() for term, value in zip(terms, by_term, strict=True)}
        compared = compared_spaces(embeddings, self._losses.compared(), self._losses.margin)
        return StepOutput(total, metrics | {f"train/{name}": value for name, value in margin.metrics.items()}, compared)

    def _labels(self, video_key: Int64[Tensor, " batch"]) -> Float[Tensor, "batch concepts"] | None:
        if self._concepts is None or self._model.num_concepts is None:
            return None
        labels = torch.from_numpy(self._concepts.soft_labels(video_key.cpu().numpy(), self._model.num_concepts))
        assert isinstance(self._config.loss, DualTripletConfig)
        if self._config.loss.labels == "binary":
            labels = (labels > 0).to(labels)
        return labels.to(video_key.device)

    def evaluate(self, model: nn.Module, manifest: Manifest, vocabulary: Vocabulary) -> dict[str, float]:
        """Retrieval on the validation set: every worker embeds a share of it, and ranks a share of the captions."""
        assert isinstance(model, HybridEncoder)
        places = contiguous_share(row_groups(manifest), self._rank, self._world)
        rows = embed_dual_rows(model, self._config, manifest, vocabulary, places)
        asked = self._config.evaluation
        how = self._model.concept_similarity, asked.latent_weight, asked.normalise, None
        return dual_metric_values(evaluate_dual(rows, *how, self._rank, next(model.parameters()).device), "val")


def _bare(model: nn.Module) -> HybridEncoder:
    found = bare(model)
    assert isinstance(found, HybridEncoder)
    return found


def compared_spaces(embeddings: DualEmbeddings, of_concepts: Similarity, margin: float) -> Compared:
    """Text and video in each space, `text_latent` and so on; their similarities, divided by the margin.

    of_concepts: the similarity of concept scores.
    """
    vectors: dict[str, Tensor] = {}
    scores: dict[str, Callable[[], Tensor]] = {}
    for name, space, similarity in (
        ("latent", embeddings.latent, cosine),
        ("concept", embeddings.concept, of_concepts),
    ):
        if space is not None:
            text, video = _matched(space)
            vectors |= {f"{TEXT}_{name}": text, f"{VIDEO}_{name}": video}
            scores[name] = partial(_in_margins, similarity, text, video, margin)
    return Compared(vectors, scores, is_bounded=True)


def _matched(space: Embeddings) -> tuple[Tensor, Tensor]:
    rows = (space.present[TEXT] & space.present[VIDEO])[:MOST_ROWS]
    text, video = (at_least_float32(space.vectors[name][:MOST_ROWS][rows].detach()) for name in (TEXT, VIDEO))
    return text, video


def _in_margins(similarity: Similarity, text: Tensor, video: Tensor, margin: float) -> Tensor:
    return similarity(text, video) / margin
