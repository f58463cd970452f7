"""The command of a submitted job: the arguments after `--`, checked here before anything is sent."""

import json
import re
import secrets
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pipelines.commands import COMMANDS
from vtr_core.errors import ConfigError
from vtr_core.redaction import redact

_CONFIGURABLE = ("train", "sweep")
_WITH_DEFAULT_OUT = ("train", "sweep", "tables", "demo")
_HERE_ONLY = re.compile(r"(?i)(sqlite|file):|[^/]*//(localhost|127\.|\[::1\])")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}")


@dataclass(frozen=True)
class JobCommand:
    """A command line of `vtr`, as its arguments."""

    words: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the command."""
        return self.words[0]

    def values(self, flag: str) -> list[str]:
        """The arguments after `flag`, up to the next flag."""
        values: list[str] = []
        inside = False
        for word in self.words:
            name, equals, value = word.partition("=")
            if word.startswith("--"):
                inside = name == flag
                if inside and equals:
                    values.append(value)
            elif inside:
                values.append(word)
        return values

    def entrypoint(self, here: str | None) -> str:
        """The shell command that runs the uploaded code, found by PYTHONPATH, in the shell's own process.

        here: the current folder, if the cluster is this machine, so that relative paths stay valid; None: the job runs
        in the uploaded folder, with the cluster's Python.
        """
        if here is None:
            return shlex.join(["exec", "python", "-m", "pipelines.cli", *self.words])
        command = ["exec", sys.executable, "-P", "-m", "pipelines.cli", *self.words]
        return f"cd {shlex.quote(here)} && {shlex.join(command)}"

    def fresh_id(self, now: datetime | None = None) -> str:
        """A submission id from command, preset and time, such as train-capsule-howto-20260131-120000-1f2e."""
        parts = [word for word in self.words[:2] if _NAME.fullmatch(word)]
        return "-".join([*parts, (now or datetime.now(UTC)).strftime("%Y%m%d-%H%M%S"), secrets.token_hex(2)])


def split(argv: Sequence[str]) -> tuple[list[str], JobCommand]:
    """The flags of `vtr submit`, and the job's command: the arguments after `--`, without a leading `vtr`."""
    if "--" not in argv:
        raise ConfigError("put the job's command after --, as in vtr submit -- train <preset> --data URI")
    place = list(argv).index("--")
    words = list(argv[place + 1 :])
    return list(argv[:place]), checked(words[1:] if words[:1] == ["vtr"] else words)


def checked(words: Sequence[str]) -> JobCommand:
    """The command; ConfigError where it is unknown, an argument holds a password, or `train` would refuse it."""
    known = [command.name for command in COMMANDS if command.name != "submit"]
    if not words or words[0] not in known:
        complaint = f"there is no command {words[0]!r}" if words else "there is no command"
        raise ConfigError(f"{complaint} after --; commands: {', '.join(known)}")
    for word in words:
        if redact(word) != word:
            raise ConfigError(f"{redact(word)} holds a secret, and a job's command is shown to everyone")
    if words[0] == "train":
        _check_settings(words[1:])
    return JobCommand(tuple(words))


def with_profile(command: JobCommand, changes: Mapping[str, Any]) -> JobCommand:
    """The command with a profile's settings as flags, except those given by the user."""
    if command.name not in _CONFIGURABLE or command.values("--resume"):
        raise ConfigError(
            f"--profile sets how a new run of {' or '.join(_CONFIGURABLE)} uses the cluster; leave it out"
        )
    flags = [word.partition("=")[0] for word in command.words if word.startswith("--")]
    chosen = {flag.removeprefix("--").replace("-", "_") for flag in flags}
    values = {name: value if isinstance(value, str) else json.dumps(value) for name, value in changes.items()}
    return JobCommand((*command.words, *(f"--{name}={values[name]}" for name in values if name not in chosen)))


def check_submission_id(name: str) -> None:
    """ConfigError for an id that Ray cannot use in file names and URLs."""
    if not _NAME.fullmatch(name):
        raise ConfigError(f"--submission-id {name} may have letters, digits, '.', '_' and '-', 100 of them at most")


def check_places(command: JobCommand) -> None:
    """ConfigError for output paths in the job's folder, which Ray removes afterwards."""
    written = [*command.values("--out"), *command.values("--json")]
    lost = [uri for uri in written if "://" not in uri and not uri.startswith("/")]
    needed = command.name in _WITH_DEFAULT_OUT and not command.values("--resume") and not command.values("--out")
    if lost or needed:
        place = f"{lost[0]} is in" if lost else f"without --out, {command.name} writes to"
        raise ConfigError(
            f"{place} the folder that the job runs in, which is removed after it; give a URI, or a folder "
            "that every node of the cluster reaches"
        )


def remarks(command: JobCommand, tracking_uri: str | None) -> list[str]:
    """Warnings of probable failures on a cluster that is not this machine."""
    warnings = [
        f"{uri} must be there on every node of the cluster"
        for flag in ("--data", "--validation", "--out", "--resume")
        for uri in command.values(flag)
        if "://" not in uri
    ]
    if not tracking_uri:
        warnings.append("MLFLOW_TRACKING_URI is not sent; unless the cluster's nodes have one, the run's log is lost")
    elif _HERE_ONLY.match(tracking_uri):
        warnings.append(f"MLFLOW_TRACKING_URI={redact(tracking_uri)} means another place on the cluster than here")
    return warnings


def _check_settings(words: Sequence[str]) -> None:
    """Raise the errors of `vtr train <preset>` that can be detected without data."""
    from pipelines.arguments import parse_with_changes, wants_help, with_joined_data
    from pipelines.train.command import TrainFlags
    from vtr_core.config.override import override
    from vtr_core.run.presets import preset

    if not words or words[0].startswith("-") or wants_help(words):
        return
    config = preset(words[0])
    _, changes = parse_with_changes(TrainFlags, with_joined_data(words[1:]), f"vtr train {words[0]}")
    override(config, changes)
