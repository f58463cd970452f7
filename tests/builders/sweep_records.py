"""Records of sweeps, as `sweep.json` holds them."""

from pipelines.sweep.folder import SweepRecord


def sweep_record(data: str = "data/mine", started: float = 0.0) -> SweepRecord:
    """A sweep over capsule networks with three trials."""
    return SweepRecord(
        space="capsule-howto-tiny",
        only=[],
        changes={},
        data=data,
        validation="data/val",
        data_fingerprint="f",
        metric="val/t2v/sum_r",
        num_samples=3,
        scheduler="asha",
        search="random",
        search_seed=0,
        max_concurrent=None,
        tracking_uri="sqlite:///x",
        experiment="vtr",
        started=started,
        provenance={},
    )
