"""Uploads the code and submits the job; a cluster whose job agent is still starting is asked again."""

import time
from typing import TYPE_CHECKING

from pipelines.submit.following import SubmittedJob
from vtr_core.errors import ClusterError, ConfigError
from vtr_core.patience import RAY

if TYPE_CHECKING:
    from cluster.runtime_env import JobEnvironment

_NOT_YET = "No available agent to submit job"
"""Ray's answer while the head node's agent, which starts jobs, does not run; the head answers other requests before."""
_PAUSE_S = 1.0


def send(job: SubmittedJob, entrypoint: str, environment: "JobEnvironment", driver_cpus: float) -> None:
    """Submit `entrypoint` as the job, with `driver_cpus` CPUs of the cluster.

    The request is repeated for up to VTR_RAY_PATIENCE_S seconds while the cluster has no agent for it. Raises
    ConfigError where the submission id is taken, ClusterError with the reason of any other failure.
    """
    deadline = time.monotonic() + RAY.seconds()
    while True:
        try:
            _submit(job, entrypoint, environment, driver_cpus)
            return
        except (RuntimeError, OSError, ValueError) as error:
            if "already exists" in str(error):
                raise ConfigError(
                    f"there is a job {job.submission_id} on this cluster; give another --submission-id"
                ) from None
            if _NOT_YET not in str(error) or time.monotonic() >= deadline:
                raise ClusterError(f"the job was not submitted: {error}") from None
        time.sleep(_PAUSE_S)


def _submit(job: SubmittedJob, entrypoint: str, environment: "JobEnvironment", driver_cpus: float) -> None:
    variables = environment.runtime_env["env_vars"]
    job.client.submit_job(
        entrypoint=entrypoint,
        entrypoint_num_cpus=driver_cpus or None,
        submission_id=job.submission_id,
        runtime_env=environment.runtime_env,
        metadata={name: variables[name] for name in ("VTR_GIT_COMMIT", "VTR_GIT_BRANCH") if name in variables},
    )
