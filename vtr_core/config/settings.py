"""The one base of every configuration class, and its numbers."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

_LARGEST = 2**31 - 1
"""Of counts and sizes; beyond it products of them leave what array libraries take."""

PositiveInt = Annotated[int, Field(gt=0, le=_LARGEST)]
NonNegativeInt = Annotated[int, Field(ge=0, le=_LARGEST)]


class Settings(BaseModel):
    """Frozen, and closed: an unknown name is an error, never ignored. Floats are finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)


class SourceSettings(Settings):
    """Of a source of data: they are written into its manifest, and tell one ingest from another."""

    def settings(self) -> dict[str, Any]:
        """All of them as JSON."""
        return self.model_dump(mode="json")
