"""`vtr embed CHECKPOINT --data URI --out URI`: the embeddings of a data set as Parquet shards, as a Ray Data job."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pipelines.arguments import parse, print_help, wants_help
from pipelines.embed.flags import EmbedFlags
from pipelines.progress import Meter

if TYPE_CHECKING:
    from vtr_core.retrieval.embed.embeddings import EmbeddingSet
    from vtr_core.retrieval.embed.job import EmbedPlan, EmbedTask
    from vtr_core.train.checkpoint.load import LoadedModel


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or wants_help(argv):
        print_help("vtr embed", EmbedFlags)
        return
    embed(parse(EmbedFlags, argv, "vtr embed"))


def embed(flags: EmbedFlags) -> "EmbeddingSet":
    """Embed the data set, and print what was written; resumes an interrupted embedding of the same model and data."""
    from pipelines.evaluation_inputs import device
    from vtr_core.retrieval.embed.embeddings import load_embeddings
    from vtr_core.retrieval.embed.job import begin, finish, is_complete, plan_embedding
    from vtr_core.retrieval.search.dual_spaces import DualSpaces
    from vtr_core.retrieval.spaces import spaces_of
    from vtr_core.run.inputs import usable_data
    from vtr_core.storage import check_writable, locate
    from vtr_core.train.checkpoint.load import load_model

    out = locate(flags.out)
    check_writable(out)
    here = flags.workers == 0
    loaded = load_model(flags.checkpoint, device() if here else "cpu")
    space = spaces_of(loaded, "vtr embed")
    manifest = usable_data(loaded.config.model, flags.data)
    space.check(loaded.config, manifest)
    config = loaded.config
    similarity = space.concept_similarity(config) if isinstance(space, DualSpaces) else config.evaluation.similarity
    plan = plan_embedding(loaded, manifest, out, similarity)
    if is_complete(plan):
        print("  it is there already, complete")
        return load_embeddings(out.uri)
    tasks = begin(plan)
    if len(tasks) < len(plan.tasks):
        print(f"  {len(plan.tasks) - len(tasks)} of {len(plan.tasks)} shards were written before", flush=True)
    already = len(plan.tasks) - len(tasks)
    with Meter(len(plan.tasks), "shards", already) as meter:
        for done, rows in enumerate(_written(plan, tasks, loaded, flags), already + 1):
            meter.tell(done, f"the last with {rows:,} rows")
    found = finish(plan)
    _report(found, flags.out)
    return found


def _written(
    plan: "EmbedPlan", tasks: "Sequence[EmbedTask]", loaded: "LoadedModel", flags: EmbedFlags
) -> Iterator[int]:
    """Write the shards of `tasks`; yields the rows of each, in order of completion."""
    if flags.workers == 0:
        from vtr_core.retrieval.embed.job import do

        return (do(plan, loaded, task) for task in tasks)
    from pipelines.embed.on_ray import embed_on_ray

    return embed_on_ray(plan, tasks, flags)


def _report(found: "EmbeddingSet", out: str) -> None:
    from vtr_core.fingerprint import short

    sizes = ", ".join(f"{name} {dim}" for name, dim in found.dims.items())
    total = sum(shard.bytes for shard in found.shards)
    shards = f"{len(found.shards)} shards, {total / 1e6:.1f} MB"
    print(f"{found.rows} rows ({sizes}), compared by {found.similarity}; {shards}")
    print(f"model       {short(found.model_fingerprint)}  {found.checkpoint}")
    print(f"data        {short(found.data_fingerprint)}  {found.data}")
    print(f"next        vtr evaluate {found.checkpoint} --data {found.data} --embeddings {out}")
    print(f"            vtr index {found.checkpoint} --data {found.data} --embeddings {out} --out <URI>")
