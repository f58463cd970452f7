"""The labels that a dual encoder is trained with: soft, or one for every concept that a video keeps."""

from pathlib import Path

import torch

from tests.data.concepts.test_table import table
from vtr_core.config.override import override
from vtr_core.run.presets import preset
from vtr_core.systems.dual.task import DualEncodingTask
from vtr_core.systems.implementation import LossTables


def test_binary_labels_are_one_where_soft_ones_are_not_zero(tmp_path: Path) -> None:
    keys = torch.tensor([20, 30, 10])
    tables, three = LossTables(table(tmp_path)), {"model.num_concepts": 3}
    soft, binary = (
        DualEncodingTask(override(preset(name), three), 0, 1, tables)._labels(keys)
        for name in ("hybrid-msrvtt-tiny", "hybrid-msrvtt-tiny-binary")
    )
    assert soft is not None
    assert binary is not None
    assert soft.tolist() == [[0.5, 0, 0.5], [1, 0.5, 0], [0, 0, 0]]
    assert binary.tolist() == [[1, 0, 1], [1, 1, 0], [0, 0, 0]]
