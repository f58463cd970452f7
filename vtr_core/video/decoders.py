"""Which library decodes pictures: PyAV, or torchcodec where it loads."""

from typing import Literal

from vtr_core.errors import ConfigError

Decoder = Literal["pyav", "torchcodec"]
AskedDecoder = Literal["auto", "pyav", "torchcodec"]


def torchcodec_fault() -> str | None:
    """Why torchcodec cannot be used here; None where it can. It needs the torch that it was built for, and FFmpeg."""
    try:
        from torchcodec.decoders import VideoDecoder  # noqa: F401
    except (ImportError, OSError, RuntimeError) as error:
        return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return None


def chosen_decoder(asked: AskedDecoder) -> tuple[Decoder, str]:
    """The decoder for `asked`, and the reason in words: auto is torchcodec where it loads, and PyAV elsewhere.

    Raises ConfigError where torchcodec is requested and cannot be loaded.
    """
    fault = None if asked == "pyav" else torchcodec_fault()
    if asked == "pyav" or (asked == "auto" and fault is not None):
        return "pyav", "PyAV decodes" + (f"; torchcodec cannot be used here ({fault})" if fault else "")
    if fault is not None:
        raise ConfigError(
            f"--decoder torchcodec cannot be used here ({fault}); install the torchcodec of this torch and FFmpeg's "
            "libraries, or give --decoder pyav"
        )
    return "torchcodec", "torchcodec decodes"
