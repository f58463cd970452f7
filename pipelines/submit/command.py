"""`vtr submit [flags] -- train <preset> --data URI …`: run a command of vtr as a job of a Ray cluster."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pipelines.arguments import json_alone, parse, print_help, print_json, wants_help
from pipelines.submit.job_command import (
    JobCommand,
    check_places,
    check_submission_id,
    checked,
    remarks,
    split,
    with_profile,
)
from pipelines.submit.job_server import JobFollower, SubmittedJob

if TYPE_CHECKING:
    from cluster.runtime_env import JobEnvironment

HELP = """\
usage: vtr submit [flags] -- <command> [its flags]     run a command of vtr on a Ray cluster and follow its log

  vtr submit -- train capsule-howto-tiny --data data/world
  vtr submit --address http://HEAD:8265 --profile 8xh100 -- train capsule-howto --data s3://… --out s3://…

Ctrl-C asks whether to stop the job; with --yes it stops it without asking, without a terminal it leaves it running. A
stopped run writes a checkpoint first. The exit code is that of the job; 143 stopped, 130 left running, 2 not submitted.

"""


@dataclass(frozen=True)
class SubmitFlags:
    """Flags of `vtr submit`."""

    address: str | None = None
    """URL of the cluster's dashboard (default: RAY_API_SERVER_ADDRESS, RAY_ADDRESS, http://127.0.0.1:8265)."""
    profile: str | None = None
    """Cluster settings by name, listed above; flags of the command override them."""
    working_dir: str = "."
    """Code folder to upload, without the data and secrets in it; or the URI of a zip archive."""
    submission_id: str | None = None
    """Submission id of the job (default: the command, the preset and the time)."""
    env: tuple[str, ...] = ()
    """Further environment variables to pass on to the job."""
    pass_credentials: bool = False
    """Also send AWS_… keys, MLFLOW_… passwords and the like; whoever reaches the cluster's API or logs can read
    them."""
    no_wait: bool = False
    """Return once the job is submitted."""
    yes: bool = False
    """Ctrl-C stops the job without asking."""
    json: bool = False
    """Print the submission id and the exit code (null with --no-wait) as JSON, alone on standard output."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    own = list(argv)[: list(argv).index("--")] if "--" in argv else argv
    if not argv or wants_help(own):
        from cluster.profiles import describe_profiles

        print(f"{HELP}profiles\n{describe_profiles()}\n")
        print_help("vtr submit", SubmitFlags)
        return
    words, command = split(argv)
    flags = parse(SubmitFlags, words, "vtr submit")
    name = flags.submission_id or command.fresh_id()
    with json_alone(flags.json):
        code = submit(replace(flags, submission_id=name), command)
    if flags.json:
        print_json({"submission_id": name, "exit_code": None if flags.no_wait else code})
    if code:
        sys.exit(code)


def submit(flags: SubmitFlags, command: JobCommand) -> int:
    """Submit the command and follow it; returns the exit code."""
    from cluster.profiles import profile
    from cluster.runtime_env import check_upload
    from pipelines.submit.job_server import address, connect, is_this_machine, send

    driver_cpus = 0.0
    if flags.profile is not None:
        chosen = profile(flags.profile)
        command = checked(with_profile(command, chosen.changes).words)
        driver_cpus = chosen.driver_cpus
    name = flags.submission_id or command.fresh_id()
    check_submission_id(name)
    environment = _environment(flags)
    if "://" not in flags.working_dir:
        check_upload(flags.working_dir)
    client = connect(address(flags.address, os.environ))
    local = is_this_machine(client)
    if not local:
        check_places(command)
    job = SubmittedJob(client, name, environment.stop_wait_s)
    _announce(flags, job, command, environment, local)
    send(job, command.entrypoint(os.getcwd() if local else None), environment, driver_cpus)
    if flags.no_wait:
        print(job.hints())
        return 0
    return JobFollower(job, flags.yes).follow()


def _environment(flags: SubmitFlags) -> "JobEnvironment":
    from cluster.runtime_env import runtime_env
    from vtr_core.tracking.environment import git_tags

    git = {} if "://" in flags.working_dir else git_tags(flags.working_dir)
    return runtime_env(flags.working_dir, os.environ, git, also=flags.env, pass_credentials=flags.pass_credentials)


def _announce(
    flags: SubmitFlags, job: SubmittedJob, command: JobCommand, environment: "JobEnvironment", local: bool
) -> None:
    """Print what is sent to which cluster, by name, and warnings."""
    variables = environment.runtime_env["env_vars"]
    print(f"job         {job.submission_id} on {job.client.get_address()}{' (this machine)' if local else ''}")
    print(f"code        {flags.working_dir} at {variables.get('VTR_GIT_COMMIT', 'an unknown commit')}")
    print(f"variables   {', '.join(variables)}")
    if environment.withheld:
        print(f"kept here   {', '.join(environment.withheld)}; --pass-credentials sends them, readable on the cluster")
    for remark in [] if local else remarks(command, variables.get("MLFLOW_TRACKING_URI")):
        print(f"note        {remark}")
    sys.stdout.flush()
