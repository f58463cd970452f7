"""An ingest as independent, recorded shard tasks, with a final manifest."""

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from vtr_core import storage
from vtr_core.config.override import record
from vtr_core.data.ingest.plan import RECORDS, IngestPlan, ShardTask, first_example, source_text
from vtr_core.data.ingest.record_tables import record_groups
from vtr_core.data.manifest import FILE as MANIFEST
from vtr_core.data.manifest import Manifest, Shard, VocabularyRecord, splits
from vtr_core.data.records.arrays import save_pairs
from vtr_core.data.shards.shard_file import write_shard
from vtr_core.data.shards.thumbnails import SUFFIX, write_thumbnails
from vtr_core.data.sources.source import Drops, ImageSource, ThumbnailSource
from vtr_core.errors import DatasetError, RunConflict
from vtr_core.storage import Location


def is_complete(plan: IngestPlan) -> bool:
    """Whether the output already is the complete data set of `plan`; RunConflict where it is another one."""
    folders = [plan.folder(split) for split in plan.splits]
    written = [folder for folder in folders if storage.exists(folder / MANIFEST)]
    if "" not in plan.splits and storage.exists(plan.out / MANIFEST):
        raise RunConflict(
            f"{plan.out} already holds a data set without splits, which training would read instead; delete it or "
            "choose another --out"
        )
    for folder in written:
        if Manifest.load(folder.uri).source.get("ingest") != plan.fingerprint:
            raise RunConflict(f"{folder} already holds another data set; delete it or choose another --out")
    if not written and plan.splits == [""] and (below := splits(plan.out.uri)):
        raise RunConflict(f"{plan.out} already holds the data sets {', '.join(below)}; choose another --out")
    return len(written) == len(folders)


def claim(plan: IngestPlan) -> bool:
    """Claim the output for `plan`; True where it is new there, False where it has been interrupted or still runs.

    RunConflict where another ingest has begun; of several that begin at once only one claims.
    """
    place, content = plan.out / RECORDS / "plan.json", {"fingerprint": plan.fingerprint}
    try:
        if storage.create_exclusively(place, (json.dumps(content, indent=1) + "\n").encode()):
            return True
    except OSError as error:
        raise _not_written(place, error) from error
    if storage.read_json(place) != content:
        raise RunConflict(
            f"{plan.out} holds an interrupted ingest with other settings; repeat that command to resume it, "
            "delete the folder, or choose another --out"
        )
    return False


def unfinished(plan: IngestPlan) -> list[ShardTask]:
    """The tasks without a record."""
    return [task for task in plan.tasks if not storage.exists(plan.record(task))]


def begin(plan: IngestPlan) -> list[ShardTask]:
    """Claim the output and return the unfinished tasks; RunConflict where another ingest has begun there."""
    claim(plan)
    return unfinished(plan)


def do(plan: IngestPlan, task: ShardTask) -> dict[str, Any]:
    """Write one shard and its record; return the record."""
    drops = Drops(plan.options.strict)
    folder = plan.folder(task.split)
    try:
        groups = record_groups(plan.source, plan.schema, plan.words.vocabulary, task.videos, drops)
        shard = write_shard(plan.schema, groups, folder / task.file)
        if isinstance(plan.source, ThumbnailSource):
            pictures = [picture for video in task.videos for picture in plan.source.thumbnails(video)]
            if pictures and shard.rows:
                shard = replace(shard, thumbnails=write_thumbnails(folder / f"{task.file}{SUFFIX}", pictures))
        dropped = {"dropped": dict(drops.counts), "examples": drops.examples, "shortened": drops.shortened}
        done = {"shard": shard.to_json(), **dropped}
        storage.write_json(plan.record(task), done)
    except OSError as error:  # read errors of the source have been converted before
        raise _not_written(folder / task.file, error) from error
    return done


def _not_written(place: Location, error: OSError) -> DatasetError:
    return DatasetError(
        f"{place} cannot be written ({error}); make room or choose another --out, and repeat the command"
    )


@dataclass(frozen=True)
class IngestResult:
    """The written data sets, and the dropped rows of all of them with examples."""

    manifests: Sequence[Manifest]
    drops: Drops


@dataclass(frozen=True)
class _Done:
    """The record of a finished task."""

    shard: dict[str, Any]
    dropped: dict[str, int]
    examples: dict[str, list[str]]
    shortened: int = 0


def _read(plan: IngestPlan, task: ShardTask) -> _Done:
    """The record of `task`; DatasetError with a remedy where it is damaged."""
    place = plan.record(task)
    try:
        done = record(_Done, storage.read_json(place))
        if Shard.from_json(done.shard).file != task.file:
            raise ValueError(f"it is not of {task.file}")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DatasetError(f"{place} is damaged ({error}); delete it, and repeat the command") from error
    return done


def finish(plan: IngestPlan) -> IngestResult:
    """Write vocabulary and manifest of every split from the tasks' records, the manifests last."""
    drops = Drops()
    drops.add(plan.listed.counts, plan.listed.examples)
    manifests = []
    for split in plan.splits:
        done = [_read(plan, task) for task in plan.tasks if task.split == split]
        dropped: Drops = Drops()
        for task in done:
            dropped.add(task.dropped, task.examples)
            drops.shortened += task.shortened
        drops.add(dropped.counts, dropped.examples)
        shards = [shard for shard in (Shard.from_json(task.shard) for task in done) if shard.rows]
        manifests.append(_manifest(plan, split, shards, dropped, drops))
    for manifest in manifests:
        manifest.save()
    for split in plan.splits:
        storage.delete_unpublished(plan.folder(split))
    storage.delete_folder(plan.out / RECORDS)
    return IngestResult(manifests, drops)


def finished(plan: IngestPlan) -> IngestResult:
    """The result of an earlier, complete ingest of `plan`."""
    return IngestResult([Manifest.load(plan.folder(split).uri) for split in plan.splits], Drops())


def _manifest(plan: IngestPlan, split: str, shards: Sequence[Shard], dropped: Drops, listed: Drops) -> Manifest:
    folder = plan.folder(split)
    if not shards:
        message = f"{source_text(plan.source)} gives no usable row for {folder}, every one was dropped"
        raise DatasetError(f"{message}{first_example(listed)}")
    vocabulary: VocabularyRecord = plan.words.save(folder)
    source = {"adapter": plan.source.name, **plan.source.settings(), "split": split, "ingest": plan.fingerprint}
    if isinstance(plan.source, ImageSource):
        subjects = [video for task in plan.tasks if task.split == split for video in task.videos]
        pairs = plan.source.pairs(sorted(subjects, key=lambda subject: subject.video_id))
        source["pairs"] = asdict(save_pairs(pairs, folder))
    return Manifest(folder.uri, plan.schema, vocabulary, tuple(shards), source, dict(sorted(dropped.counts.items())))


def abandon(plan: IngestPlan) -> None:
    """Remove what a failed ingest wrote, unless it has a finished shard with rows and can be resumed.

    For the command that claimed the output only. Other files in its folders stay, and so do folders that hold any. What
    was dropped altogether is looked at again when the command is repeated.
    """
    done = (task for task in plan.tasks if storage.exists(plan.record(task)))
    if any(Shard.from_json(_read(plan, task).shard).rows for task in done):
        return
    for split in plan.splits:
        files = [task.file for task in plan.tasks if task.split == split]
        _clear(plan.folder(split), frozenset([*files, *(f"{file}{SUFFIX}" for file in files)]))
    storage.delete_folder(plan.out / RECORDS)
    _clear(plan.out, ())


def _clear(folder: Location, written: Collection[str]) -> None:
    """Delete the files of the names `written`, and the folder where nothing else is in it."""
    storage.delete_unpublished(folder, written)
    for child in storage.children(folder):
        if child.name in written:
            storage.delete_file(child)
    if storage.exists(folder) and not any(storage.children(folder)):
        storage.delete_folder(folder)
