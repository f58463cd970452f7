"""The margin of highest mean figure over folds, and the threshold of all folds' pairs together, without Ray."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from pipelines.systems.siamese.face_runs import FaceRuns, choose_margin
from tests.builders.made_faces import ingested, made_faces, names
from tests.pipelines.verify.test_command import saved
from vtr_core.data.manifest import Manifest, splits
from vtr_core.data.sources.faces import Faces
from vtr_core.data.splits import GroupSplit, folds
from vtr_core.metrics.verification import equal_error_threshold
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset
from vtr_core.systems.siamese.config import PairContrastiveConfig
from vtr_core.systems.siamese.verification import encode_faces, score_pairs
from vtr_core.train.checkpoint import load_model
from vtr_core.train.checkpoint.checkpoint_files import Progress


@dataclass(frozen=True)
class MadeRuns(FaceRuns):
    """Fresh weights instead of trained ones, with the validation figures of `values` by margin and fold."""

    values: Mapping[float, Sequence[float]] = field(default_factory=dict)

    def data(self, name: str, split: GroupSplit) -> str:
        source = Faces(
            root=self.faces, subjects=(*split.train, *split.validation, *split.test), validation=split.validation
        )
        ingested(source, Path(self.out) / "data" / name)
        return f"{self.out}/data/{name}"

    def checkpoint(self, config: TrainConfig, data: str, folder: str) -> str:
        assert isinstance(config.loss, PairContrastiveConfig)
        fold = int(folder.split("-fold-")[1][0])
        progress = Progress(step=1, best_value=self.values[config.loss.margin][fold])
        return saved(Path(folder), splits(data), seed=fold, progress=progress)


@pytest.fixture(scope="module")
def faces(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(made_faces(tmp_path_factory.mktemp("raw") / "faces", subjects=6))


@pytest.mark.parametrize(
    ("values", "best"),
    [
        ({0.4: (0.9, 0.6, 0.6), 0.6: (0.8, 0.8, 0.8), 1.0: (0.7, 0.7, 0.7)}, 0.6),
        ({1.0: (0.5, 0.75, 0.5), 0.6: (0.75, 0.5, 0.5), 0.4: (0.5, 0.5, 0.5)}, 0.6),  # of equals the smallest
    ],
)
def test_the_margin_of_highest_mean_and_a_threshold_of_all_folds(
    faces: str, tmp_path: Path, values: Mapping[float, Sequence[float]], best: float
) -> None:
    runs = MadeRuns(faces, None, 0, str(tmp_path / "out"), "faces", values=values)
    parts = folds(names(1, 6), 3, seed=0)
    choice = choose_margin(runs, preset("siamese-att-tiny"), tuple(values), parts, "g", str(tmp_path / "scn"))
    assert choice.margin == best
    assert choice.means[f"{best:g}"] == pytest.approx(sum(values[best]) / 3)
    assert json.loads((tmp_path / "scn" / "margins.json").read_text())["threshold"] == choice.threshold
    distance, different, judged = [], [], set()
    for fold in range(3):
        loaded = load_model(str(tmp_path / "scn" / f"margin-{best:g}-fold-{fold}-of-3"))
        manifest = Manifest.load(str(tmp_path / "out" / "data" / f"g-fold-{fold}-of-3" / "val"))
        scored = score_pairs(encode_faces(loaded.model, loaded.config, manifest), manifest, loaded.config)  # type: ignore[arg-type]
        distance.append(scored.distance)
        different.append(scored.different)
        judged |= {subject for pair in scored.subjects for subject in pair}
    assert judged == set(names(1, 6))
    assert choice.threshold == equal_error_threshold(np.concatenate(distance), np.concatenate(different))
    assert choice.threshold not in [equal_error_threshold(*fold) for fold in zip(distance, different, strict=True)]
