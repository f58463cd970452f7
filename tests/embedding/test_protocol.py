"""Which similarity a model was trained with, which chose its checkpoint, and which judges it."""

from vtr_core.embedding.rankings import Protocol
from vtr_core.run.presets import preset


def test_the_papers_protocol_trains_with_dot_products_and_judges_by_the_euclidean_distance() -> None:
    config = preset("capsule-howto-published")
    assert Protocol.of(config, config.evaluation.similarity) == Protocol("dot", "neg_euclidean", "neg_euclidean")
