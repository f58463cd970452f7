"""A small valid input of every adapter: files below a folder, and the source that reads them."""

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.builders.toy import written
from tests.data.sources.annotated_layouts import HELD, WRITERS
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.sources.all import SOURCES, WHOLE_VIDEOS

IDS = ("v1", "v2", "v3")
NARRATION = "video_id,start,end,text\nv1,0,3,cut the onion\nv1,3,6,stir it\nv2,1.5,7,fold it\nv3,1,8,bake\n"
PRIMARY = "23521\nMake Jello\nhttps://x/a\n3\npour water,stir mixture, pour alcohol\n\n7\nMake Tea\nu\n2\nboil,drink\n"


@dataclass(frozen=True)
class World:
    """How valid input is written below a folder, and the words of the `vtr ingest` that reads it."""

    write: Callable[[Path], None]
    source: Callable[[Path], Any]
    words: Callable[[Path], list[str]]


def ingest(source: Any, out: Path, strict: bool, word_vectors: str | None = None) -> None:
    """What `vtr ingest` does, one shard after another in this process."""
    written(source, out, IngestOptions(videos_per_shard=2, strict=strict), word_vectors=word_vectors)


def _features(folder: Path, dim: int, ids: tuple[str, ...] = IDS) -> None:
    folder.mkdir(parents=True)
    generator = np.random.default_rng(0)
    for name in ids:
        np.save(folder / f"{name}.npy", generator.random((10, dim)).astype(np.float32))


def _howto100m(root: Path) -> None:
    _features(root / "2d", 4)
    _features(root / "3d", 3)
    _features(root / "audio", 2)
    (root / "captions.csv").write_text(NARRATION)


def _howto100m_json(root: Path) -> None:
    _features(root / "2d", 4)
    rows = {"v1": [[0, 3], [3, 6]], "v2": [[1.5, 7]], "v3": [[1, 8]]}
    content = {
        video: {
            "start": [start for start, _ in spans],
            "end": [end for _, end in spans],
            "text": ["cut the onion" for _ in spans],
        }
        for video, spans in rows.items()
    }
    (root / "captions.json").write_text(json.dumps(content))


def _howto100m_folder(root: Path) -> None:
    _features(root / "2d", 4)
    (root / "captions").mkdir()
    for name in IDS:
        (root / "captions" / f"{name}.csv").write_text("start,end,text\n0,3,cut the onion\n3,6,stir it\n")


def _msrvtt(root: Path) -> None:
    _features(root / "features", 4, ("video0", "video1", "video2", "video3"))
    annotations = root / "annotations"
    annotations.mkdir()
    splits = ("train", "train", "validate", "test")
    videos = [
        {"video_id": f"video{i}", "split": split, "start time": 2.5, "end time": 12.75, "id": i}
        for i, split in enumerate(splits)
    ]
    sentences = [{"video_id": f"video{i}", "caption": f"caption {word}"} for i in range(4) for word in ("a", "b")]
    for name, part in (("train_val", slice(3)), ("test", slice(3, 4))):
        ids = {video["video_id"] for video in videos[part]}
        content = {"videos": videos[part], "sentences": [s for s in sentences if s["video_id"] in ids]}
        (annotations / f"{name}_videodatainfo.json").write_text(json.dumps(content))
    (annotations / "MSRVTT_train.9k.csv").write_text("video_id\nvideo0\nvideo1\n")
    (annotations / "MSRVTT_JSFUSION_test.csv").write_text(
        "key,vid_key,video_id,sentence\nret0,msr3,video3,three a\nret1,msr2,video2,given\n"
    )


PAIRS = [
    {"id": "a", "caption": "the letter a", "video": "lips/v1.npy", "audio": "mfcc/v1.npy", "start": 0, "end": 3},
    {"id": "b", "caption": "the letter b", "video": "lips/v2.npy", "audio": "", "start": 1, "end": 4},
    {"id": "a", "caption": "an a", "video": "lips/v1.npy", "audio": "mfcc/v1.npy", "start": 0, "end": 3},
]


def _pairs(suffix: str, root: Path) -> None:
    _features(root / "lips", 4)
    _features(root / "mfcc", 2)
    table = root / f"table.{suffix}"
    match suffix:
        case "csv" | "tsv":
            cell = "," if suffix == "csv" else "\t"
            lines = [cell.join(PAIRS[0]), *(cell.join(map(str, row.values())) for row in PAIRS)]
            table.write_text("\n".join(lines) + "\n")
        case "jsonl":
            table.write_text("\n".join(map(json.dumps, PAIRS)) + "\n")
        case _:
            pq.write_table(pa.Table.from_pylist(PAIRS), table)


def _captions(root: Path) -> None:
    (root / "table.csv").write_text("id,caption,split\nv1,cut the onion,a\nv1,stir it,a\nv2,fold it,b\n,bake,a\n")


def _youcook2(root: Path) -> None:
    _features(root / "2d", 4)
    _features(root / "3d", 3)
    _features(root / "audio", 2)
    rows = ("4,1,226,chop the onion,v1", "9,6,226,fry it,v1", "5,2,7,boil water,v2", "3,1,8,peel,v3")
    (root / "validation_youcook.csv").write_text("\n".join(["end,start,task,text,video_id", *rows]) + "\n")


def _crosstask(root: Path) -> None:
    _features(root / "f", 4)
    (root / "tasks_primary.txt").write_text(PRIMARY)
    (root / "tasks_related.txt").write_text("8\nMake Soup\nhttps://x/b\n2\nboil water,boil water\n")
    (root / "videos_val.csv").write_text("23521,v1,https://y/1\n7,v2,https://y/1\n23521,v3,https://y/2\n")
    (root / "annotations").mkdir()
    for name, lines in (("23521_v1", "2,5.5,9.25\n1,0,4\n2,12,13\n"), ("7_v2", "2,1,2\n"), ("23521_v3", "3,1,2\n")):
        (root / "annotations" / f"{name}.csv").write_text(lines)


def _mining_youtube(root: Path) -> None:
    _features(root / "f", 4)
    (root / "annotations").mkdir()
    for name in IDS:
        blocks = [(1, 3, "crack_eggs"), (2, 8, "whisk_egg"), (8, 9, "background")]
        text = "".join(f"{i}\r\n00:00:0{a},000 --> 00:00:0{b},500\r\n{t}\r\n\r\n" for i, (a, b, t) in enumerate(blocks))
        (root / "annotations" / f"{name}.srt").write_text(text)
    (root / "weakYouTube_dict.txt").write_text("crack_egg\nwhisk_egg\nbackground\n")
    (root / "list.txt").write_text("v1\nv2\nv3\n")
    (root / "recipes.csv").write_text("video_id,recipe\nv1,omelette\nv2,pancake\nv3,omelette\n")


def _clip_tokens(root: Path) -> None:
    (root / "tokens").mkdir()
    (root / "text").mkdir()
    tokens = np.random.default_rng(0).standard_normal((3, 5, 4)).astype(np.float32)
    for name in IDS:
        np.save(root / "tokens" / f"{name}.npy", tokens)
        np.save(root / "text" / f"{name}.npy", tokens[:2, 0])
    rows = [f"{name},cut the onion {word},train" for name in IDS for word in ("a", "b")]
    (root / "captions.csv").write_text("\n".join(["id,caption,split", *rows]) + "\n")


def _big_file(root: Path) -> None:
    folder = root / "f"
    folder.mkdir(parents=True)
    names = [f"{video}_{frame}" for video in IDS for frame in range(3)]
    values = np.random.default_rng(0).random((len(names), 4)).astype("<f4")
    (folder / "id.txt").write_text(" ".join(names))
    (folder / "shape.txt").write_text(f"{len(names)} 4")
    (folder / "feature.bin").write_bytes(values.tobytes())
    (root / "captions.txt").write_text("v1#0 cut the onion\nv1#1 stir it\nv2#0 fold it\nv3#0 bake\n")
    (root / "tgif.tsv").write_text("".join(f"https://x/{video}.gif\ta man nods\n" for video in IDS))
    (root / "train.txt").write_text("https://x/v1.gif\nhttps://x/v2.gif\n")
    (root / "test.txt").write_text("https://x/v3.gif\n")


def _annotated(name: str) -> Callable[[Path], None]:
    def write(root: Path) -> None:
        _features(root / "features", 4, tuple(video_id for video_id, _, _ in HELD[name]))
        (root / "annotations").mkdir()
        WRITERS[name](root / "annotations")

    return write


def _world(name: str, write: Callable[[Path], None], paths: Mapping[str, str], **settings: object) -> World:
    """The source `name` with settings that are `paths` below the folder, and others; `records` as the flag."""
    records = settings.pop("records", None)
    source = (SOURCES if records is None else WHOLE_VIDEOS)[name]

    def complete(root: Path) -> dict[str, object]:
        return {**{setting: str(root / path) for setting, path in paths.items()}, **settings}

    def words(root: Path) -> list[str]:
        flags = [name, *(() if records is None else ("--records", str(records)))]
        for setting, value in complete(root).items():
            flags += [f"--{setting.replace('_', '-')}", *map(str, value if isinstance(value, tuple) else (value,))]
        return flags

    return World(write, lambda root: source(**complete(root)), words)


_STREAMS = {"features_3d": "3d", "audio": "audio"}
_ANNOTATED = {"annotations": "annotations", "feature_folder": "features"}
_PAIRS: dict[str, Any] = {"feature_columns": ("video", "audio"), "pool": "mean"}
_TOKENS = {"table": "captions.csv", "token_folder": "tokens", "text_folder": "text"}
_STEPS = {"annotations": ".", "video_features": "f"}
_COOK = {"annotations": "validation_youcook.csv", "feature_folder": "2d", **_STREAMS}
_TGIF = {"feature_folder": "f", "captions_file": "tgif.tsv", "splits_folder": "."}

WORLDS: Mapping[str, World] = MappingProxyType(
    {
        "howto100m": _world(
            "howto100m", _howto100m, {"features_2d": "2d", "annotations": "captions.csv", **_STREAMS}, fps_3d=1.0
        ),
        "howto100m_json": _world("howto100m", _howto100m_json, {"features_2d": "2d", "annotations": "captions.json"}),
        "howto100m_folder": _world("howto100m", _howto100m_folder, {"features_2d": "2d", "annotations": "captions"}),
        "bigfile": _world("bigfile", _big_file, {"feature_folder": "f", "captions_file": "captions.txt"}),
        "tgif": _world("tgif", _big_file, _TGIF),
        "msrvtt": _world("msrvtt", _msrvtt, _ANNOTATED),
        "msrvtt_1ka": _world("msrvtt", _msrvtt, _ANNOTATED, split="1k-a"),
        "msrvtt_videos": _world("msrvtt", _msrvtt, _ANNOTATED, records="videos"),
        "clip_tokens": _world("clip_tokens", _clip_tokens, _TOKENS, grid=2),
        "captions_csv": _world("captions", _captions, {"table": "table.csv"}, records="videos"),
        "pairs_csv": _world("pairs", partial(_pairs, "csv"), {"table": "table.csv"}, fps=(1.0, 1.0), **_PAIRS),
        "pairs_jsonl": _world("pairs", partial(_pairs, "jsonl"), {"table": "table.jsonl"}, **_PAIRS),
        "pairs_parquet": _world("pairs", partial(_pairs, "parquet"), {"table": "table.parquet"}, **_PAIRS),
        "youcook2": _world("youcook2", _youcook2, _COOK, fps_3d=1.0),
        "didemo": _world("didemo", _annotated("didemo"), _ANNOTATED),
        **{name: _world(name, _annotated(name), _ANNOTATED, records="videos") for name in ("activitynet", "msvd")},
        "crosstask": _world("crosstask", _crosstask, _STEPS),
        "mining_youtube": _world(
            "mining_youtube", _mining_youtube, {**_STEPS, "videos_file": "list.txt", "recipes": "recipes.csv"}
        ),
        "mining_youtube_all": _world(
            "mining_youtube", _mining_youtube, {"annotations": ".", "features_2d": "f", "audio": "f"}
        ),
    }
)

_VECTORS = np.random.default_rng(0).standard_normal((4, 5)).astype("<f4")
_VOCABULARY = ("the", "onion", "crème", "cut")


def _binary() -> bytes:
    return b"4 5\n" + b"".join(
        w.encode() + b" " + v.tobytes() + b"\n" for w, v in zip(_VOCABULARY, _VECTORS, strict=True)
    )


def _lines() -> bytes:
    rows = zip(_VOCABULARY, _VECTORS, strict=True)
    return "".join(f"{word} {' '.join(map(repr, vector.tolist()))}\n" for word, vector in rows).encode()


WORD_VECTORS: Mapping[str, bytes] = MappingProxyType(
    {
        "binary": _binary(),
        "text": b"4 5\n" + _lines(),
        "glove": _lines(),
        "gzip": gzip.compress(_binary(), mtime=0),
    }
)
