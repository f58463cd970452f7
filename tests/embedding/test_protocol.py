"""Which similarity a model was trained with, which chose its checkpoint, and which judges it."""

from vtr_core.embedding.rankings import Protocol
from vtr_core.run.presets import preset


def test_the_papers_protocol_trains_with_dot_products_and_judges_by_the_euclidean_distance() -> None:
    config = preset("capsule-howto-published")
    assert Protocol.of(config, config.evaluation.similarity) == Protocol("dot", "neg_euclidean", "neg_euclidean")


def test_the_losses_similarity_is_named() -> None:
    trained = {name: Protocol.of(preset(f"capsule-howto{name}"), "dot").trained_with for name in ("", "-max-margin")}
    assert trained == {"": "dot", "-max-margin": "cosine"}
    assert Protocol.of(preset("capsule-msrvtt"), "dot").trained_with == "cosine"


def test_it_is_read_back_from_a_tables_figures() -> None:
    said = Protocol("cosine", "dot", "neg_euclidean")
    assert Protocol.from_flat({"uri": "data/test", **said.flat()}) == said
