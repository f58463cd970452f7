"""Other extractors of video features with this project's network in them: files of their own checkouts are run.

python -m benchmarks.peers.extractors NAME CHECKOUT FOLDER VIDEO...   prints {"clock", "processor", "rows"}

A frame a second at 224 × 224, each in its own way; torch's threads are as many as there are cores. What is timed is
from the first video to the last row, without imports and without loading of the network.
"""

import contextlib
import csv
import io
import json
import os
import resource
import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vtr_core.backbones.imagenet_lite import NORMALIZATION, load
from vtr_core.backbones.recipes import recipe
from vtr_core.backbones.weights_files import installed

CORES = len(os.sched_getaffinity(0))
Extract = Callable[[Sequence[str], Path], int]
"""Videos and a folder for files to the number of rows."""


class Normalised(nn.Module):
    """The network on colours from 0 to 1, as others bring them."""

    def __init__(self) -> None:
        super().__init__()
        extractor = load(str(installed(recipe("imagenet-lite"))), "cpu")
        assert isinstance(extractor.network, nn.Module)
        self.network = extractor.network

    def forward(self, pictures: Tensor) -> Tensor:
        """(frames, 1280)."""
        with torch.inference_mode():
            features: Tensor = self.network((pictures * 255 - NORMALIZATION.mean[0]) / NORMALIZATION.deviation[0])
        return features


def without_init(name: str, folder: Path) -> None:
    """Let modules of a package be imported without its __init__, which imports what extraction does not need."""
    package = types.ModuleType(name)
    package.__path__ = [str(folder / name)]
    sys.modules[name] = package


def video_feature_extractor() -> Extract:
    """antoine77340/video_feature_extractor: its loader, which pipes frames from ffmpeg, as its extract.py uses it."""
    from random_sequence_shuffler import RandomSequenceSampler
    from torch.utils.data import DataLoader
    from video_loader import VideoLoader

    network = Normalised()

    def extract(videos: Sequence[str], folder: Path) -> int:
        table = folder / "videos.csv"
        with table.open("w") as file:
            rows = [(video, folder / f"{number}.npy") for number, video in enumerate(videos)]
            csv.writer(file).writerows([("video_path", "feature_path"), *rows])
        dataset = VideoLoader(str(table), framerate=1, size=224, centercrop=True)
        order = RandomSequenceSampler(len(dataset), 10) if len(dataset) > 10 else None
        loader = DataLoader(dataset, batch_size=1, num_workers=CORES, sampler=order)
        count = 0
        for data in loader:
            pictures = data["video"].squeeze(0) / 255
            features = torch.cat([network(part) for part in pictures.split(64)])
            np.save(data["output"][0], features.numpy().astype(np.float16))
            count += len(features)
        return count

    return extract


def video_features() -> Extract:
    """v-iashin/video_features: its extractor of frames, which re-encodes to the rate and reads by OpenCV."""
    from models.resnet.extract_resnet import ExtractResNet
    from omegaconf import OmegaConf
    from torchvision import transforms

    class Ours(ExtractResNet):
        def load_model(self) -> dict[str, nn.Module]:
            cut = [transforms.Resize(224), transforms.CenterCrop(224), transforms.ToTensor()]
            self.transforms = transforms.Compose([transforms.ToPILImage(), *cut])
            return {"model": Normalised()}

    made: list[Any] = []

    def extract(videos: Sequence[str], folder: Path) -> int:
        settings = OmegaConf.load("configs/resnet.yml")
        settings.update(device="cpu", batch_size=16, extraction_fps=1, on_extraction="save_numpy")
        settings.update(output_path=str(folder / "out"), tmp_path=str(folder / "tmp"))
        made.append(Ours(settings))
        for video in videos:
            made[0]._extract(video)  # noqa: SLF001  its own main calls it so
        return sum(len(np.load(file)) for file in (folder / "out").glob("*_resnet.npy"))

    return extract


def clip_video_encode() -> Extract:
    """iejMac/clip-video-encode: video2numpy's reader in processes, then its encode_chunk."""
    without_init("clip_video_encode", Path.cwd())
    from clip_video_encode.handle_chunk import encode_chunk
    from clip_video_encode.writer import FileWriter
    from torchvision import transforms
    from video2numpy.frame_reader import FrameReader

    network = Normalised()

    class Mapper:
        tokenizer = None
        preprocess = transforms.Compose([transforms.ToPILImage(), transforms.ToTensor()])

        def __call__(self, batch: Tensor) -> np.ndarray:
            return network(batch).numpy()

    def extract(videos: Sequence[str], folder: Path) -> int:
        reader = FrameReader(
            list(videos), list(range(len(videos))), target_fps=1, resize_size=224, workers=CORES, memory_size=1
        )
        reader.start_reading()
        frames, places, size = [], {}, 0
        for seen, info in reader:
            frames.append(seen)
            places[info["reference"]] = (size, size + len(seen), info["dst_name"])
            size += len(seen)
        ids = [str(number) for number in range(len(videos))]
        encode_chunk(frames, places, FileWriter(str(folder)), Mapper(), {}, ids, False, "cpu")
        return size

    return extract


def curator() -> Extract:
    """NVIDIA-NeMo/Curator: the function of its frame stage, on all cores, then the network."""
    without_init("nemo_curator", Path.cwd())
    from nemo_curator.utils.decoder_utils import (
        FrameExtractionPolicy,
        extract_frames,
    )

    network = Normalised()

    def extract(videos: Sequence[str], folder: Path) -> int:
        count = 0
        for number, video in enumerate(videos):
            content = io.BytesIO(Path(video).read_bytes())
            frames = extract_frames(
                content, FrameExtractionPolicy.sequence, sample_rate_fps=1, target_res=(224, 224), num_threads=CORES
            )
            parts = torch.from_numpy(frames).split(32)
            features = torch.cat([network(part.permute(0, 3, 1, 2) / 255) for part in parts])
            np.save(folder / f"{number}.npy", features.numpy())
            count += len(features)
        return count

    return extract


PEERS: dict[str, Callable[[], Extract]] = {
    "video_feature_extractor": video_feature_extractor,
    "video_features": video_features,
    "clip-video-encode": clip_video_encode,
    "Curator": curator,
}


def main(argv: Sequence[str]) -> None:
    """Time one of them."""
    name, checkout, folder, *videos = argv
    os.chdir(checkout)
    sys.path.insert(0, checkout)
    torch.set_num_threads(CORES)
    with contextlib.redirect_stdout(sys.stderr):
        extract = PEERS[name]()
        begun, used = perf_counter(), _processor()
        rows = extract(videos, Path(folder))
        timing = {"clock": perf_counter() - begun, "processor": _processor() - used, "rows": rows}
    print(json.dumps(timing))


def _processor() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


if __name__ == "__main__":
    main(sys.argv[1:])
