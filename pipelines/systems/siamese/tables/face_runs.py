"""Data sets and runs for a table of faces; existing ones with the same settings are reused."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pipelines.ingest.command import ingest
from pipelines.ingest.flags import IngestFlags
from pipelines.train.command import TrainFlags, resume, train
from vtr_core import storage
from vtr_core.data.plan.subject_groups import GroupSplit
from vtr_core.data.sources.faces.folder import Faces
from vtr_core.data.sources.faces.lfw import Lfw
from vtr_core.data.sources.faces.lfw_folder import LfwFolder
from vtr_core.run.config import TrainConfig
from vtr_core.storage import locate
from vtr_core.uris import below

LFW_SIZE = 100
"""Rows and columns of LFW's photographs, published with 250 × 250, as the paper resizes them."""


@dataclass(frozen=True)
class FaceRuns:
    """Creates the data sets and runs of a table in a folder."""

    faces: str | LfwFolder
    """Folder with a folder of images for each subject, or a copy of LFW, whose splits are of folds."""
    size: int | None
    """Rows and columns that images are resized to."""
    seed: int
    """Random seed of the pairs."""
    out: str
    experiment: str
    trained: Mapping[str, str] = field(default_factory=dict)
    """Checkpoints of runs that were trained side by side, by run folder."""

    def data(self, name: str, split: GroupSplit) -> str:
        """The data set `name` with the subjects of each split; RunConflict if it exists with others."""
        place = below(self.out, f"data/{name}")
        ingest(self.source(split), IngestFlags(out=place))
        return place

    def source(self, split: GroupSplit) -> Faces | Lfw:
        """The images and pairs of a round. LFW's are in colour, and its pairs those of its file."""
        if isinstance(self.faces, LfwFolder):
            return Lfw(
                root=self.faces.people,
                pairs_file=self.faces.pairs,
                size=self.size or LFW_SIZE,
                grey=False,
                validation_folds=tuple(map(int, split.validation)),
                test_folds=tuple(map(int, split.test)),
            )
        return Faces(
            root=locate(self.faces).uri,  # normalised path of the folder
            size=self.size,
            subjects=(*split.train, *split.validation, *split.test),
            validation=split.validation,
            test=split.test,
            pair_seed=self.seed,
        )

    def checkpoint(self, config: TrainConfig, data: str, folder: str) -> str:
        """The run's checkpoint; an interrupted run is resumed, a finished one reused."""
        if folder in self.trained:
            return self.trained[folder]
        if storage.exists(locate(folder) / "run.json"):
            return resume(folder).checkpoint
        return train(config, self.flags(data, folder)).checkpoint

    def flags(self, data: str, folder: str) -> TrainFlags:
        """What a training is asked for."""
        return TrainFlags(data=data, out=folder, experiment=self.experiment)
