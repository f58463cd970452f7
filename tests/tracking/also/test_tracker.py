"""Whether trackers can be used is said before a run begins."""

import importlib.util
import sys
from types import SimpleNamespace

import pytest

from vtr_core.errors import ConfigError
from vtr_core.tracking.other_trackers import require_trackers


def test_none_and_tensorboard_need_nothing() -> None:
    require_trackers([])
    require_trackers(["tensorboard"])


def test_a_tracker_named_twice_is_a_slip() -> None:
    with pytest.raises(ConfigError, match="--also tensorboard tensorboard names a tracker twice"):
        require_trackers(["tensorboard", "tensorboard"])


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'vtr-ray\[wandb\]'"):
        require_trackers(["tensorboard", "wandb"])


def test_a_key_is_needed_but_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(api=SimpleNamespace(api_key=None)))
    monkeypatch.delenv("WANDB_MODE", raising=False)
    with pytest.raises(ConfigError, match="set WANDB_API_KEY, or WANDB_MODE=offline"):
        require_trackers(["wandb"])
    monkeypatch.setenv("WANDB_MODE", "offline")
    require_trackers(["wandb"])
