"""The function that extracts videos: in this process, or on Ray."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from pipelines.extract.flags import ExtractFlags

if TYPE_CHECKING:
    from vtr_core.extraction.chosen import Chosen
    from vtr_core.extraction.shards import Extract
    from vtr_core.video.process import Decoding


def extractor(chosen: "tuple[Chosen, ...]", flags: ExtractFlags) -> "Extract":
    """The extraction function: in this process, or on Ray, to which it connects."""
    from vtr_core.video.process import Decoding, Limits

    how = Decoding(Limits(flags.seconds, flags.decoder_bytes), chosen[0].decoder)
    if flags.workers == 0:
        return _here(chosen, how)
    import ray

    from pipelines.ray_session import connect
    from vtr_core.extraction.on_ray import Resources, extract_on_ray

    connect(worker_logs=flags.worker_logs)
    held = ray.cluster_resources()
    share = 0.0 if flags.records == "frames" else flags.gpus_per_network  # JPEGs are made on CPUs
    resources = Resources.of(held.get("CPU", 1), held.get("GPU", 0), share, how.decoder)
    return partial(extract_on_ray, chosen=chosen, how=replace(how, device=resources.device), resources=resources)


def _here(chosen: "tuple[Chosen, ...]", how: "Decoding") -> "Extract":
    import torch

    from vtr_core.extraction.in_process import extract_here
    from vtr_core.processors import num_usable

    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    at_once = num_usable()
    return partial(extract_here, chosen=chosen, how=replace(how, device=device), device=device, at_once=at_once)
