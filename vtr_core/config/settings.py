"""The one base of every configuration class."""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """Frozen, and closed: an unknown name is an error, never ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
