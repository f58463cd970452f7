"""Where a checkpoint comes from."""

from typing import Any

from vtr_core.data.manifest import Manifest
from vtr_core.extraction.found_features import extraction_of
from vtr_core.train.job import Job


def checkpoint_provenance(job: Job, data: Manifest) -> dict[str, Any]:
    """The provenance of a run's checkpoints: code, versions, data, how its features are extracted, the MLflow run."""
    run = {"mlflow.run_id": job.tracked.run_id, "mlflow.tracking_uri": job.tracked.store} if job.tracked else {}
    found = {"data": job.data, "data.fingerprint": data.fingerprint}
    given = {"extraction": extraction_of(data.source), "init": job.init}
    return {**job.provenance, **run, **found, **{name: held for name, held in given.items() if held}}
