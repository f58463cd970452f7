"""A small valid input of every adapter: files below a folder, and the source that reads them."""

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.data.sources.annotated_layouts import HELD, WRITERS
from vtr_core.data.ingest.ingest import begin, do, finish, is_complete
from vtr_core.data.ingest.plan import IngestOptions, plan_ingest
from vtr_core.data.sources.all import SOURCES, WHOLE_VIDEOS
from vtr_core.data.sources.annotated_videos import Msrvtt, MsrvttVideos
from vtr_core.data.sources.bigfile import BigFileVideos, Tgif
from vtr_core.data.sources.caption_table import Captions
from vtr_core.data.sources.clip_tokens import ClipTokens
from vtr_core.data.sources.instructional.crosstask import CrossTask
from vtr_core.data.sources.instructional.howto100m import HowTo100M, YouCook2
from vtr_core.data.sources.instructional.mining_youtube import MiningYouTube
from vtr_core.data.sources.pairs import Pairs
from vtr_core.storage import locate

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
    options = IngestOptions(videos_per_shard=2, strict=strict)
    plan = plan_ingest(source, locate(str(out)), None, options, word_vectors)
    if is_complete(plan):
        return
    for task in begin(plan):
        do(plan, task)
    finish(plan)


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


def _pairs(root: Path, suffix: str) -> None:
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


def _streams(root: Path) -> dict[str, str]:
    return {"features_3d": str(root / "3d"), "audio": str(root / "audio")}


def _words(settings: Mapping[str, object]) -> list[str]:
    """Settings as flags."""
    words: list[str] = []
    for name, value in settings.items():
        values = value if isinstance(value, tuple) else (value,)
        words += [f"--{name.replace('_', '-')}", *map(str, values)]
    return words


def _world(
    name: str, cls: type[Any], write: Callable[[Path], None], settings: Callable[[Path], Any], *more: str
) -> World:
    return World(write, lambda root: cls(**settings(root)), lambda root: [name, *more, *_words(settings(root))])


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


def _msrvtt_settings(root: Path) -> dict[str, object]:
    return {"annotations": str(root / "annotations"), "feature_folder": str(root / "features")}


def _annotated(name: str) -> Callable[[Path], None]:
    def write(root: Path) -> None:
        _features(root / "features", 4, tuple(video_id for video_id, _, _ in HELD[name]))
        (root / "annotations").mkdir()
        WRITERS[name](root / "annotations")

    return write


def _clip_tokens_settings(root: Path) -> dict[str, object]:
    return {"table": str(root / "captions.csv"), "token_folder": str(root / "tokens"), "grid": 2}


def _pairs_settings(suffix: str, **more: object) -> Callable[[Path], dict[str, object]]:
    return lambda root: {
        "table": str(root / f"table.{suffix}"),
        "feature_columns": ("video", "audio"),
        "pool": "mean",
        **more,
    }


WORLDS: Mapping[str, World] = MappingProxyType(
    {
        "howto100m": _world(
            "howto100m",
            HowTo100M,
            _howto100m,
            lambda root: {
                "features_2d": str(root / "2d"),
                "annotations": str(root / "captions.csv"),
                **_streams(root),
            },
        ),
        "howto100m_json": _world(
            "howto100m",
            HowTo100M,
            _howto100m_json,
            lambda root: {"features_2d": str(root / "2d"), "annotations": str(root / "captions.json")},
        ),
        "howto100m_folder": _world(
            "howto100m",
            HowTo100M,
            _howto100m_folder,
            lambda root: {"features_2d": str(root / "2d"), "annotations": str(root / "captions")},
        ),
        "bigfile": _world(
            "bigfile",
            BigFileVideos,
            _big_file,
            lambda root: {"feature_folder": str(root / "f"), "captions_file": str(root / "captions.txt")},
        ),
        "tgif": _world(
            "tgif",
            Tgif,
            _big_file,
            lambda root: {
                "feature_folder": str(root / "f"),
                "captions_file": str(root / "tgif.tsv"),
                "splits_folder": str(root),
            },
        ),
        "msrvtt": _world("msrvtt", Msrvtt, _msrvtt, _msrvtt_settings),
        "msrvtt_1ka": _world("msrvtt", Msrvtt, _msrvtt, lambda root: {**_msrvtt_settings(root), "split": "1k-a"}),
        "msrvtt_videos": _world("msrvtt", MsrvttVideos, _msrvtt, _msrvtt_settings, "--records", "videos"),
        "clip_tokens": _world(
            "clip_tokens",
            ClipTokens,
            _clip_tokens,
            lambda root: {**_clip_tokens_settings(root), "text_folder": str(root / "text")},
        ),
        "captions_csv": _world(
            "captions",
            Captions,
            _captions,
            lambda root: {"table": str(root / "table.csv")},
            "--records",
            "videos",
        ),
        "pairs_csv": _world("pairs", Pairs, lambda root: _pairs(root, "csv"), _pairs_settings("csv", fps=(1.0, 1.0))),
        "pairs_jsonl": _world("pairs", Pairs, lambda root: _pairs(root, "jsonl"), _pairs_settings("jsonl")),
        "pairs_parquet": _world("pairs", Pairs, lambda root: _pairs(root, "parquet"), _pairs_settings("parquet")),
        "youcook2": _world(
            "youcook2",
            YouCook2,
            _youcook2,
            lambda root: {
                "annotations": str(root / "validation_youcook.csv"),
                "feature_folder": str(root / "2d"),
                **_streams(root),
            },
        ),
        **{name: _world(name, SOURCES[name], _annotated(name), _msrvtt_settings) for name in ("didemo", "lsmdc")},
        **{
            name: _world(name, WHOLE_VIDEOS[name], _annotated(name), _msrvtt_settings, "--records", "videos")
            for name in ("activitynet", "msvd")
        },
        "crosstask": _world(
            "crosstask",
            CrossTask,
            _crosstask,
            lambda root: {"annotations": str(root), "video_features": str(root / "f")},
        ),
        "mining_youtube": _world(
            "mining_youtube",
            MiningYouTube,
            _mining_youtube,
            lambda root: {
                "annotations": str(root),
                "video_features": str(root / "f"),
                "videos_file": str(root / "list.txt"),
                "recipes": str(root / "recipes.csv"),
            },
        ),
        "mining_youtube_all": _world(
            "mining_youtube",
            MiningYouTube,
            _mining_youtube,
            lambda root: {"annotations": str(root), "features_2d": str(root / "f"), "audio": str(root / "f")},
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
