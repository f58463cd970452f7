"""Errors that a user can act on: what was given, what is allowed, what to do."""


class Interrupted(KeyboardInterrupt):
    """A run was ended by a signal, after saving what it had."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(f"signal {signal_number}")
        self.exit_code = 128 + signal_number


class VtrError(Exception):
    """A fault in what the user gave. Commands print its one line and exit with code 2, without a traceback."""


class ConfigError(VtrError):
    """A configuration or flag has an unknown name or a value that is not allowed."""


class InputError(VtrError):
    """A source file (features, captions, tables, word vectors) cannot be used as it is."""


class DatasetError(VtrError):
    """A data set is incomplete, damaged or does not suit the request."""


class SchemaMismatch(DatasetError):
    """A data set was written in a record kind or schema version that this code does not read."""


class CheckpointError(VtrError):
    """A checkpoint is incomplete, damaged or belongs to another system."""


class RunConflict(VtrError):
    """An output location already holds another run or another data set."""


class ClusterError(VtrError):
    """The Ray cluster cannot hold what the run asks for."""


class TrainingError(VtrError):
    """Training cannot go on, for instance because the loss stays non-finite."""
