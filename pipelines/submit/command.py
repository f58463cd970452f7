"""`vtr submit [flags] -- train <preset> --data URI …`: run a command of vtr as a job of a Ray cluster."""

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
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
from vtr_core.errors import ConfigError, one_line

if TYPE_CHECKING:
    from cluster.job_variables import JobVariables
    from cluster.upload import Upload

HELP = """\
usage: vtr submit [flags] -- <command> [its flags]     run a command of vtr on a Ray cluster and follow its log

  vtr submit -- train capsule-howto-tiny --data data/world
  vtr submit --address http://HEAD:8265 --profile 8xh100 -- train capsule-howto --data s3://… --out s3://…

Ctrl-C asks whether to stop the job; with --yes it stops it without asking, without a terminal it leaves it running. A
stopped run writes a checkpoint first. The exit code is that of the job; 143 stopped, 130 left running, 2 not submitted.

"""


_NAMED = 5
"""Names that are shown of what is not sent."""


@dataclass(frozen=True)
class SubmitFlags:
    """Flags of `vtr submit`."""

    address: str | None = None
    """URL of the cluster's dashboard (default: RAY_API_SERVER_ADDRESS, RAY_ADDRESS, http://127.0.0.1:8265)."""
    profile: str | None = None
    """Cluster settings by name, listed above; flags of the command override them."""
    working_dir: str = "."
    """Code folder: the files that git tracks in it are uploaded, as they are on disk, but no dot-files, keys and what
    .rayignore names; or the URI of a zip archive."""
    include: tuple[str, ...] = ()
    """Further files and folders of it to upload, tracked or not."""
    submission_id: str | None = None
    """Submission id of the job (default: the command, the preset and the time)."""
    env: tuple[str, ...] = ()
    """Further environment variables to pass on to the job."""
    pass_credentials: bool = False
    """Also send AWS_… keys, MLFLOW_… passwords and the like; whoever reaches the cluster's API or logs can read
    them."""
    verbose: bool = False
    """Name every file that is uploaded."""
    dry_run: bool = False
    """Show the files, variables and command of the job; ask no cluster and send nothing."""
    no_wait: bool = False
    """Return once the job is submitted."""
    yes: bool = False
    """Ctrl-C stops the job without asking."""
    json: bool = False
    """Print the submission id and the exit code (null with --no-wait, --dry-run) as JSON, alone on standard output."""


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
        print_json({"submission_id": name, "exit_code": None if flags.no_wait or flags.dry_run else code})
    if code:
        sys.exit(code)


def submit(flags: SubmitFlags, command: JobCommand) -> int:
    """Submit the command and follow it; returns the exit code."""
    from cluster.job_variables import job_variables
    from cluster.profiles import profile
    from pipelines.submit.job_server import address, connect, is_this_machine, send
    from vtr_core.tracking.environment import git_tags

    if flags.profile is not None:
        command = checked(with_profile(command, profile(flags.profile).changes).words)
    name = flags.submission_id or command.fresh_id()
    check_submission_id(name)
    upload = _upload(flags)
    git = {} if upload is None else git_tags(flags.working_dir)
    variables = job_variables(os.environ, git, flags.env, flags.pass_credentials)
    if flags.dry_run:
        print(f"job         {name}, not submitted")
        _announce(flags, command, upload, variables)
        return 0
    client = connect(address(flags.address, os.environ))
    local = is_this_machine(client)
    if not local:
        check_places(command)
    job = SubmittedJob(client, name, variables.stop_wait_s)
    print(f"job         {name} on {client.get_address()}{' (this machine)' if local else ''}")
    _announce(flags, command, upload, variables)
    for remark in [] if local else remarks(command, variables.sent.get("MLFLOW_TRACKING_URI")):
        print(f"note        {remark}")
    sys.stdout.flush()
    with TemporaryDirectory(prefix="vtr-submit-") as folder:
        code = flags.working_dir
        if upload is not None:
            code = str(Path(folder) / "code.zip")
            upload.pack(Path(code))
        runtime_env = {"working_dir": code, "env_vars": dict(variables.sent)}
        send(job, command.entrypoint(os.getcwd() if local else None), runtime_env)
    if flags.no_wait:
        print(job.hints())
        return 0
    return JobFollower(job, flags.yes).follow()


def _upload(flags: SubmitFlags) -> "Upload | None":
    """The files of the code folder; None where it is an archive that the cluster downloads."""
    from cluster.upload import upload_of

    if "://" not in flags.working_dir:
        return upload_of(flags.working_dir, flags.include)
    if flags.include:
        raise ConfigError(f"--include adds files of a folder, and --working-dir {flags.working_dir} is an archive")
    return None


def _announce(flags: SubmitFlags, command: JobCommand, upload: "Upload | None", variables: "JobVariables") -> None:
    """Print what is sent: the command, the code's files by number, size and, if asked, name, the variables by name."""
    commit = variables.sent.get("VTR_GIT_COMMIT", "an unknown commit")
    print(f"command     {shlex.join(['vtr', *command.words])}")
    if upload is None:
        print(f"code        {flags.working_dir}")
    else:
        count = f"{len(upload.files)} {'file' if len(upload.files) == 1 else 'files'}, {upload.size / 1e6:.1f} MB"
        print(f"code        {count}, of {flags.working_dir} at {commit}")
        for name in sorted(upload.files) if flags.verbose or flags.dry_run else ():
            print(f"            {one_line(name)}")
        _announce_left("untracked", upload.untracked, "git add or --include PATH sends them")
        _announce_left("that may hold a key", upload.keys, "--include FILE sends one")
    print(f"variables   {', '.join(variables.sent)}")
    if variables.withheld:
        print(f"kept here   {', '.join(variables.withheld)}; --pass-credentials sends them, readable on the cluster")


def _announce_left(kind: str, names: Sequence[str], remedy: str) -> None:
    """Print what is not sent though one could think so, the first names of it."""
    if names:
        shown = ", ".join(one_line(name) for name in names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
        print(f"not sent    {len(names)} {kind}: {shown}; {remedy}")
