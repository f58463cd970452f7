"""Packages that a registered model needs, beside MLflow and the code that it carries."""

from importlib import metadata

from packaging.version import Version

_IMPORTED = ("torch", "numpy", "pandas", "obstore", "pyarrow", "pydantic", "safetensors", "jaxtyping", "isal")
_OF_OBJECT_STORES = ("boto3",)


def model_requirements(on_object_store: bool) -> list[str]:
    """The packages that loading and predicting import, in the installed versions.

    on_object_store: whether the model refers to a checkpoint on an object store, which needs a client.
    """
    names = (*_IMPORTED, *(_OF_OBJECT_STORES if on_object_store else ()))
    return [requirement(name, metadata.version(name)) for name in names]


def requirement(name: str, installed: str) -> str:
    """A requirement that a package index can satisfy, as close to the installed version as possible.

    A local build (2.13.0+cpu) becomes the release that it was built from, whose builds for other devices are as good. A
    pre-release, as in a vendor's image, becomes any later version.
    """
    version = Version(installed)
    return f"{name}{'>=' if version.is_prerelease else '=='}{version.public}"
