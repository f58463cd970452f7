"""What a run takes from its training data beside batches: its concepts, and the tables that its loss needs."""

from vtr_core import storage
from vtr_core.config.data_sets import JOINED, joined_uris
from vtr_core.config.run import TrainConfig
from vtr_core.data.captions import cache_folder, training_information, training_references
from vtr_core.data.concepts.concept_table import FILE, ConceptTable
from vtr_core.data.manifest import Manifest
from vtr_core.errors import CheckpointError, DatasetError
from vtr_core.run.inputs import check_concepts
from vtr_core.storage import Location, locate
from vtr_core.systems.task import LossTables
from vtr_core.text.concepts import ConceptNames
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.checkpoint.checkpoint_files import Checkpoint

FOLDER = "concepts"


def num_concepts(config: TrainConfig) -> int | None:
    """K of a model with a concept space, else None."""
    return config.model.system().num_concepts(config.model)


def usable_concepts(config: TrainConfig, data: Manifest, folder: str, given: str | None) -> str | None:
    """The URI of the concept table of a new run on `data`; None for a model without a concept space.

    given: the table that was asked for; by default that of `concept_places`.
    Raises DatasetError, with the command that makes one, where there is none, where it was not made from `data`, or
    where it offers too few concepts.
    """
    wanted = num_concepts(config)
    if wanted is None:
        return None
    first = joined_uris(folder)[0]
    places = [locate(given)] if given is not None else concept_places(locate(first), data.location)
    found = next((place for place in places if storage.exists(place / FILE)), None)
    if found is None:
        shown = " or ".join(str(place) for place in places)
        command = (
            f"vtr concepts {folder.replace(JOINED, ' ')}" if given is None else f"vtr concepts {folder} --out {given}"
        )
        raise DatasetError(
            f"the model detects {wanted} concepts, and there is no concept table at {shown}; make one with {command}, "
            "or give another with --concepts URI"
        )
    table = ConceptTable.load(found.uri)
    table.require(wanted)
    for uri, fingerprint in data.source["parts"].items() if JOINED in data.uri else [(data.uri, data.fingerprint)]:
        table.require_dataset(uri, fingerprint)
    check_concepts(config, table.head, found.uri, folder)
    return found.uri


def concept_places(*folders: Location) -> list[Location]:
    """Where `vtr concepts` may have put the table for data sets or folders of splits: in them or beside them."""
    places = [place / FOLDER for folder in folders for place in (folder, folder.parent)]
    return list({place.uri: place for place in places}.values())


def concept_table(config: TrainConfig, uri: str | None) -> ConceptTable | None:
    """The concept table of a run; None for a model without a concept space."""
    wanted = num_concepts(config)
    if wanted is None:
        return None
    if uri is None:
        raise DatasetError(f"the model detects {wanted} concepts, but the run has no concept table; start a new run")
    table = ConceptTable.load(uri)
    table.require(wanted)
    return table


def names_of(config: TrainConfig, table: ConceptTable | None) -> ConceptNames | None:
    """The concepts of the model: the most frequent ones of the table."""
    wanted = num_concepts(config)
    if table is None or wanted is None:
        return None
    return ConceptNames(table.names[:wanted], table.fingerprint)


def require_names(found: Checkpoint, names: ConceptNames | None, where: Location) -> None:
    """CheckpointError unless the checkpoint's model detects the concepts of the run's labels."""
    if found.concepts == names:
        return
    held, wanted = (0 if one is None else len(one.names) for one in (found.concepts, names))
    raise CheckpointError(
        f"{where} has a model of {held} concepts of another concept table than the run's labels of {wanted}; "
        "restore that table, or start a new run"
    )


def loss_tables(
    config: TrainConfig, manifest: Manifest, vocabulary: Vocabulary, concepts: ConceptTable | None
) -> LossTables:
    """The tables of the captions of `manifest`; `concepts`: the labels of a model with a concept space."""
    system = config.model.system()
    margin = system.granularity(config.loss)
    return LossTables(
        concepts,
        None if margin is None else training_information(manifest, margin.reading, cache_folder()),
        training_references(manifest, vocabulary) if system.scores_captions(config.loss) else None,
    )
