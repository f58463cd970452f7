"""A training warns of ties in validation once."""

import logging

import numpy as np
import pytest

from vtr_core.metrics.ranking import retrieval_metrics
from vtr_core.train.loop.recorder import ties_told_once


def said(caplog: pytest.LogCaptureFixture, tells: bool, tied_queries: list[int]) -> list[str]:
    """What is logged by validations of 20 queries, of which the first so many score all items alike."""
    caplog.clear()
    with caplog.at_level(logging.WARNING), ties_told_once(tells):
        for number in tied_queries:
            scores = np.eye(20, dtype=np.float32)
            scores[:number] = 1
            retrieval_metrics(scores)
    return [record.getMessage() for record in caplog.records]


def test_one_worker_of_a_run_tells_and_metrics_outside_warn_as_before(caplog: pytest.LogCaptureFixture) -> None:
    assert not said(caplog, tells=False, tied_queries=[3, 3])
    retrieval_metrics(np.ones((4, 4)))
    assert "4 of 4 queries tie" in caplog.text
