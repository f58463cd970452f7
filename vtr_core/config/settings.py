"""The one base of every configuration class, and its numbers."""

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

_LARGEST = 2**31 - 1
"""Upper bound of counts and sizes; products of larger ones overflow in array libraries."""

PositiveInt = Annotated[int, Field(gt=0, le=_LARGEST)]
NonNegativeInt = Annotated[int, Field(ge=0, le=_LARGEST)]


class Settings(BaseModel):
    """Frozen, and closed: an unknown name is an error, never ignored. Floats are finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Descriptions are of one line each, as help breaks lines anew."""
        super().__pydantic_init_subclass__(**kwargs)
        for setting in cls.model_fields.values():
            if setting.description is not None:
                setting.description = " ".join(setting.description.split())


class SourceSettings(Settings):
    """Settings of a data source, which are written to the manifest and identify an ingest."""

    left_out_unset: ClassVar[frozenset[str]] = frozenset()
    """Fields that the manifest omits while they are 0 or false: data sets made before they existed keep their
    fingerprints."""

    def settings(self) -> dict[str, Any]:
        """The settings as JSON."""
        values = self.model_dump(mode="json")
        return {name: value for name, value in values.items() if value or name not in self.left_out_unset}
