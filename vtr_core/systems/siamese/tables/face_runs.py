"""The data sets and runs behind a table of faces: what is there of the same settings is taken as it is."""

from dataclasses import dataclass

from pipelines.ingest.command import IngestFlags, ingest
from pipelines.train.command import TrainFlags, resume, train
from vtr_core import storage
from vtr_core.data.plan.subject_groups import GroupSplit
from vtr_core.data.sources.faces.folder import Faces
from vtr_core.run.config import TrainConfig
from vtr_core.storage import locate


@dataclass(frozen=True)
class FaceRuns:
    """Faces, and the folder of data sets and runs."""

    faces: str
    """Folder with a folder of images for each subject."""
    size: int | None
    """Rows and columns that images are brought to."""
    seed: int
    """Random seed of the pairs."""
    out: str
    experiment: str

    def data(self, name: str, split: GroupSplit) -> str:
        """The data set `name` with the splits that have subjects; RunConflict where it is there with others."""
        source = Faces(
            root=locate(self.faces).uri,  # the same, however the folder is spelled
            size=self.size,
            subjects=(*split.train, *split.validation, *split.test),
            validation=split.validation,
            test=split.test,
            pair_seed=self.seed,
        )
        place = f"{self.out.rstrip('/')}/data/{name}"
        ingest(source, IngestFlags(out=place))
        return place

    def checkpoint(self, config: TrainConfig, data: str, folder: str) -> str:
        """The run's checkpoint; a run that was interrupted goes on, a finished one is taken as it is."""
        if storage.exists(locate(folder) / "run.json"):
            return resume(folder).checkpoint
        return train(config, TrainFlags(data=data, out=folder, experiment=self.experiment)).checkpoint
