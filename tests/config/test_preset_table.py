"""Rows of a table of presets: what they give counts, at any depth; a wrong name or value fails where it is written."""

from types import MappingProxyType

import pytest
from pydantic import ValidationError

from vtr_core.config.data_sets import BatchConfig, WordEncoderConfig
from vtr_core.config.losses import InfoNceConfig
from vtr_core.config.override import override
from vtr_core.config.run import Change, OptimizerConfig, Row, TrainConfig, applied, changed
from vtr_core.systems.capsules.config import CapsuleNetConfig

BASE = override(
    TrainConfig(model=CapsuleNetConfig()),
    {"loss.margin.value": 0.5, "model.words.hidden_dim": 8, "optimizer.beta1": 0.5},
)


def test_only_what_a_row_gives_is_changed_at_any_depth() -> None:
    change = Change(
        model=CapsuleNetConfig(words=WordEncoderConfig(dropout=0.1)), optimizer=OptimizerConfig(learning_rate=0.3)
    )
    assert changed(BASE, change) == override(BASE, {"model.words.dropout": 0.1, "optimizer.learning_rate": 0.3})


def test_rows_build_on_others_and_on_the_model() -> None:
    table = MappingProxyType(
        {
            "wide": Row(
                about="twice", of_model=lambda m: Change(model=CapsuleNetConfig(primary_dim=2 * m.primary_dim))
            ),
            "slow": Row(about="slow", optimizer=OptimizerConfig(learning_rate=1e-5)),
            "both": Row(about="both, twice", like=("wide", "slow", "wide"), batch=BatchConfig(videos=2)),
        }
    )
    both = override(BASE, {"model.primary_dim": 128, "optimizer.learning_rate": 1e-5, "batch.videos": 2})
    assert applied(BASE, table, "both") == both


@pytest.mark.parametrize(
    "write",
    [
        lambda: Row(about="", optimizer=OptimizerConfig(learning_rat=1)),  # type: ignore[call-arg]
        lambda: Row(about="", optimizer=OptimizerConfig(learning_rate=-1)),
        lambda: Row(about="", model=InfoNceConfig(margin=1)),  # type: ignore[call-arg]
        lambda: Row(about="", optimiser=OptimizerConfig()),  # type: ignore[call-arg]
        lambda: Row(about="", batch=OptimizerConfig()),  # type: ignore[arg-type]
        lambda: Row(about="", model=InfoNceConfig()),  # type: ignore[arg-type]
        lambda: Row(model=CapsuleNetConfig()),  # type: ignore[call-arg]
    ],
)
def test_a_wrong_name_or_value_fails_where_it_is_written(write) -> None:
    with pytest.raises(ValidationError):
        write()


def test_settings_that_do_not_go_together_fail_where_they_are_joined() -> None:
    with pytest.raises(ValidationError, match="two lengths of one warm-up"):
        changed(override(BASE, {"optimizer.warmup_steps": 5}), Change(optimizer=OptimizerConfig(warmup_share=0.1)))
