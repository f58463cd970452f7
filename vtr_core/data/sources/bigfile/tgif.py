"""TGIF (Li et al. 2016): animated GIFs with a sentence each, from the release's table and lists of splits."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import PurePosixPath
from typing import ClassVar
from urllib.parse import urlsplit

from vtr_core import storage
from vtr_core.data.sources.bigfile.collection import BigFileVideos, caption_lines
from vtr_core.data.sources.reasons import Reason
from vtr_core.data.sources.source import Drops
from vtr_core.errors import InputError
from vtr_core.storage import locate
from vtr_core.text.tokens.vocabulary import tokenise

SPLITS = {"train": "train", "val": "val", "test": "test"}


class Tgif(BigFileVideos):
    """A GIF's id is the name of its file in the URL, without the ending; features are a BigFile of those ids."""

    name: ClassVar[str] = "tgif"

    captions_file: str | None = None
    """The release's tgif-v1.0.tsv: lines of a URL, a tab and a sentence."""
    splits_folder: str | None = None
    """Folder of train.txt, val.txt and test.txt, URLs line by line (default: all GIFs are one data set)."""

    def _split(self, video_id: str) -> str | None:
        return self._split_of.get(video_id) if self.splits_folder else None

    def _captions(self, drops: Drops) -> Mapping[str, tuple[str, ...]]:
        if self.captions_file is None:
            raise InputError("vtr ingest tgif needs --captions-file, the release's tgif-v1.0.tsv")
        found: dict[str, list[str]] = {}
        for number, line in enumerate(caption_lines(self.captions_file), start=1):
            url, tab, caption = line.partition("\t")
            where, video_id = f"{self.captions_file}, line {number}", gif_id(url)
            if not tab or not video_id:
                drops.drop(Reason.BAD_LINE, f"{where}: {line[:40]!r} is not a URL, a tab and a sentence")
            elif not tokenise(caption):
                drops.drop(Reason.EMPTY_CAPTION, f"{where}: the caption {caption[:40]!r} holds no word")
            elif self.splits_folder and video_id not in self._split_of:
                drops.drop(Reason.UNKNOWN_VIDEO, f"{where}: {video_id} is in no list of {self.splits_folder}")
            else:
                found.setdefault(video_id, []).append(caption.strip())
        return {video_id: tuple(captions) for video_id, captions in found.items()}

    @cached_property
    def _split_of(self) -> dict[str, str]:
        assert self.splits_folder is not None
        folder, found = locate(self.splits_folder), dict[str, str]()
        for split in SPLITS:
            if storage.exists(folder / f"{split}.txt"):
                found.update({gif_id(line): split for line in caption_lines((folder / f"{split}.txt").uri)})
        if not found:
            raise InputError(f"{folder} holds no {', '.join(f'{split}.txt' for split in SPLITS)}; give TGIF's lists")
        return found


def gif_id(url: str) -> str:
    """The name of a URL's file without its ending."""
    return PurePosixPath(urlsplit(url.strip()).path).stem
