"""Ranking on many workers: what they exchange, and the exact ranks of sharded embeddings."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
import torch.distributed as dist
from jaxtyping import Bool, Float, Float32, Int64, Shaped
from torch import Tensor, nn
from torch.nn.functional import pad
from torch.nn.parallel import DistributedDataParallel

from vtr_core.config.run import Wire
from vtr_core.data.batches import RowKeys
from vtr_core.embedding.embedded_rows import EmbeddedRows
from vtr_core.embedding.rankings import Direction, Entries, Ranking, block_scores, of_standing, rankings
from vtr_core.losses.gmc import Sequences
from vtr_core.metrics.ranking import ITEM_CHUNK, QUERY_CHUNK
from vtr_core.metrics.ranks import PairCounts, keep, slices
from vtr_core.nn.embeddings import DualEmbeddings, Embeddings
from vtr_core.similarity import SimilarityKind


class _GatherRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, sent: torch.dtype) -> Tensor:
        ctx.sent = sent
        return _all_gather(rows.to(sent)).to(rows.dtype)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        whole = grad.to(ctx.sent).contiguous()
        own = whole.new_empty((len(whole) // world_size(), *whole.shape[1:]))
        dist.reduce_scatter_tensor(own, whole)
        return own.to(grad.dtype), None


class _SumShares(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, share: Tensor) -> Tensor:  # noqa: ARG004
        total = share.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:  # noqa: ARG004
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


def world_size() -> int:
    """Number of workers that share the batch; 1 where no process group was started."""
    return dist.get_world_size() if dist.is_initialized() else 1


def gather_rows(rows: Float[Tensor, "part ..."], wire: Wire = "as_computed") -> Float[Tensor, "batch ..."]:
    """All workers' rows, in order of rank, with gradient. Every worker must hold the same number of rows."""
    sent = torch.bfloat16 if wire == "bf16" else rows.dtype
    return rows if world_size() == 1 else _GatherRows.apply(rows, sent)


def gather_embeddings(part: Embeddings, wire: Wire = "as_computed") -> Embeddings:
    """The embeddings of the whole batch, in one collective for all modalities."""
    if world_size() == 1:
        return part
    names = list(part.vectors)
    own = torch.stack([part.vectors[name] for name in names], dim=1)
    if part.candidates is not None:
        own = torch.cat([own, part.candidates], dim=1)
    whole = gather_rows(own, wire)
    presence = _all_gather(torch.stack([part.present[name] for name in names], dim=1).to(torch.uint8)).bool()
    return Embeddings(
        vectors={name: whole[:, i] for i, name in enumerate(names)},
        present={name: presence[:, i] for i, name in enumerate(names)},
        candidates=None if part.candidates is None else whole[:, len(names) :],
    )


def gather_sequences(part: Sequences, wire: Wire = "as_computed") -> Sequences:
    """The sequences of the whole batch, with gradient, padded to the longest of all workers."""
    if world_size() == 1:
        return part
    longest = torch.tensor(part.mask.shape[1], device=part.mask.device)
    dist.all_reduce(longest, dist.ReduceOp.MAX)
    missing = int(longest.item()) - part.mask.shape[1]
    tokens, mask = pad(part.tokens, (0, 0, 0, missing)), pad(part.mask, (0, missing))
    return Sequences(gather_rows(tokens, wire), _all_gather(mask.to(torch.uint8)).bool())


def gather_flags(part: Bool[Tensor, " part"]) -> Bool[Tensor, " batch"]:
    """All workers' flags, in order of rank."""
    return part if world_size() == 1 else _all_gather(part.to(torch.uint8)).bool()


def gather_dual(part: DualEmbeddings, wire: Wire = "as_computed") -> DualEmbeddings:
    """The embeddings of the whole batch in each space, in one collective for each."""
    return DualEmbeddings(
        latent=None if part.latent is None else gather_embeddings(part.latent, wire),
        concept=None if part.concept is None else gather_embeddings(part.concept, wire),
    )


def widest(ranges: Float[Tensor, "spaces 2"]) -> Float[Tensor, "spaces 2"]:
    """The minimum over workers of the first column and the maximum of the second."""
    if world_size() == 1:
        return ranges
    signed = ranges * ranges.new_tensor([1.0, -1.0])
    dist.all_reduce(signed, dist.ReduceOp.MIN)
    return signed * ranges.new_tensor([1.0, -1.0])


def sum_shares(share: Float[Tensor, " losses"]) -> Float[Tensor, " losses"]:
    """The sums of all workers' shares of some losses, with gradient."""
    return share if world_size() == 1 else _SumShares.apply(share)


def average_gradients(module: nn.Module) -> None:
    """Replace the gradients of `module` by their mean over workers, as DDP does for a model it wraps."""
    gradients = [p.grad for p in module.parameters() if p.grad is not None]
    if world_size() == 1 or not gradients:
        return
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    dist.all_reduce(flat)
    flat /= world_size()
    for gradient, mean in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
        gradient.copy_(mean.view_as(gradient))


def average_in_bf16(state: object, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:  # noqa: ARG001
    """A DDP hook: the mean over workers of a bucket of gradients, sent and summed in bf16.

    As torch's `bf16_compress_hook`, which is refused without CUDA.
    """
    gradients = bucket.buffer()
    sent = gradients.to(torch.bfloat16).div_(world_size())
    work = dist.all_reduce(sent, async_op=True)
    assert work is not None
    return work.get_future().then(lambda done: gradients.copy_(done.value()[0]))


def gather_keys(part: RowKeys) -> RowKeys:
    """The keys of the whole batch, in one collective."""
    clip, video, caption = gather_integers(torch.stack([part.clip, part.video, part.caption], dim=1)).unbind(dim=1)
    return RowKeys(clip=clip, video=video, caption=caption)


def gather_integers(part: Int64[Tensor, "part columns"]) -> Int64[Tensor, "batch columns"]:
    """All workers' rows, in order of rank."""
    return part if world_size() == 1 else _all_gather(part)


def gather_uneven(part: Int64[Tensor, "part columns"]) -> Int64[Tensor, "rows columns"]:
    """All workers' rows, in order of rank; workers may hold different numbers of rows."""
    if world_size() == 1:
        return part
    counts = gather_integers(torch.tensor([[len(part)]], device=part.device)).flatten().tolist()
    longest = max(counts)
    whole = gather_integers(pad(part, (0, 0, 0, longest - len(part))))
    return torch.cat([rows[:count] for rows, count in zip(whole.split(max(1, longest)), counts, strict=False)])


def sum_numbers(values: Shaped[Tensor, "..."]) -> Shaped[Tensor, "..."]:
    """The sums of all workers' values, without gradient; `values` is overwritten."""
    if world_size() > 1:
        dist.all_reduce(values)
    return values


def gather_objects(value: Any) -> list[Any]:
    """One Python object of every worker, in order of rank."""
    if world_size() == 1:
        return [value]
    values: list[Any] = [None] * world_size()
    dist.all_gather_object(values, value)
    return values


def agree_all(condition: bool, device: torch.device) -> bool:
    """Whether `condition` holds on every worker."""
    if world_size() == 1:
        return condition
    flag = torch.tensor(int(condition), device=device)
    dist.all_reduce(flag, dist.ReduceOp.MIN)
    return bool(flag.item())


def sum_all(value: int, device: torch.device) -> int:
    """The sum of every worker's `value`."""
    if world_size() == 1:
        return value
    total = torch.tensor(value, device=device)
    dist.all_reduce(total)
    return int(total.item())


def _all_gather(rows: Tensor) -> Tensor:
    whole = rows.new_empty((world_size() * len(rows), *rows.shape[1:]))
    dist.all_gather_into_tensor(whole, rows.contiguous())
    return whole


def bare(model: nn.Module) -> nn.Module:
    """The module inside DDP and torch.compile."""
    module = model.module if isinstance(model, DistributedDataParallel) else model
    inside = getattr(module, "_orig_mod", module)
    assert isinstance(inside, nn.Module)
    return inside


Place = TypeVar("Place")


def contiguous_share(places: Sequence[Place], rank: int, world: int) -> Sequence[Place]:
    """The share of worker `rank`; the shares of all workers, in order of rank, are `places`."""
    return places[rank * len(places) // world : (rank + 1) * len(places) // world]


def gather_columns(
    columns: Sequence[np.ndarray], device: torch.device
) -> tuple[list[np.ndarray], Int64[np.ndarray, " workers_and_one"]]:
    """Columns of integers or flags of all workers' rows, in order of rank, and where the rows of each worker begin."""
    own = torch.from_numpy(np.stack([column.astype(np.int64) for column in columns], axis=1)).to(device)
    count = gather_uneven(torch.tensor([[len(own)]], device=device)).flatten().cpu().numpy()
    whole = gather_uneven(own).cpu().numpy()
    held = [whole[:, number].astype(column.dtype) for number, column in enumerate(columns)]
    return held, np.concatenate([np.zeros(1, np.int64), np.cumsum(count)])


class SharedVectors:
    """One matrix of vectors, sharded by rows: worker r has the rows `starts[r]` to `starts[r + 1]` − 1."""

    def __init__(
        self,
        own: Float32[np.ndarray, "part dim"],
        starts: Int64[np.ndarray, " workers_and_one"],
        rank: int,
        device: torch.device,
    ) -> None:
        self._own, self._starts, self._rank, self._device = own, starts, rank, device

    def owners(self, rows: Int64[np.ndarray, " rows"]) -> tuple[int, ...]:
        """The workers that have at least one of these rows, ascending."""
        return tuple(np.unique(np.searchsorted(self._starts, rows, side="right") - 1).tolist())

    def own(self, rows: Int64[np.ndarray, " rows"]) -> Float32[Tensor, "rows dim"]:
        """Rows that this worker has."""
        return torch.from_numpy(self._own[rows - self._starts[self._rank]])

    def fetch(self, rows: Int64[np.ndarray, " rows"]) -> Float32[Tensor, "rows dim"]:
        """Any rows, ascending; every worker asks for the same ones."""
        if world_size() == 1:
            return self.own(rows)
        block = torch.empty((len(rows), self._own.shape[1]), device=self._device)
        for owner in self.owners(rows):
            first, last = np.searchsorted(rows, self._starts[owner : owner + 2]).tolist()
            if owner == self._rank:
                block[first:last] = self.own(rows[first:last]).to(self._device)
            dist.broadcast(block[first:last], src=owner)
        return block.cpu()


def add_scores(counts: PairCounts, device: torch.device) -> None:
    """Share the scores of relevant pairs, each computed by one worker, with all workers."""
    counts.scores = _summed(counts.scores, device)


def add_counts(counts: PairCounts, device: torch.device) -> None:
    """Replace the counts by their sums over all workers."""
    counts.higher, counts.equal = _summed(counts.higher, device), _summed(counts.equal, device)
    counts.not_finite = _summed(counts.not_finite, device)


def _summed(values: np.ndarray, device: torch.device) -> np.ndarray:
    return sum_numbers(torch.from_numpy(values).to(device)).cpu().numpy()


def evaluate_shares(own: EmbeddedRows, similarity: SimilarityKind, rank: int, device: torch.device) -> list[Direction]:
    """`evaluate_retrieval` of all workers' rows, in order of rank; equal on every worker.

    device: where the workers' collectives run; scores are computed on the CPU.
    """
    shared = _SharedRows(own, rank, device)
    return [_direction(shared, ranking, similarity) for ranking in rankings(shared.without_vectors)]


class _SharedRows:
    def __init__(self, own: EmbeddedRows, rank: int, device: torch.device) -> None:
        self.rank, self.device = rank, device
        names = list(own.vectors)
        columns = [own.clip_key, own.video_key, *(own.present[name] for name in names)]
        (clip, video, *present), starts = gather_columns(columns, device)
        none = np.zeros((len(clip), 0), np.float32)
        self.without_vectors = EmbeddedRows(
            dict.fromkeys(names, none), dict(zip(names, present, strict=True)), clip, video
        )
        self._vectors = {name: SharedVectors(held, starts, rank, device) for name, held in own.vectors.items()}

    def owners(self, entries: Entries) -> tuple[int, ...]:
        return self._vectors[entries.names[0]].owners(_rows(entries))

    def own(self, entries: Entries) -> Entries:
        """`entries` with their vectors, all of which this worker has."""
        return _filled(entries, [self._vectors[name].own(_rows(entries)) for name in entries.names])

    def fetch(self, entries: Entries) -> Entries:
        """`entries`, the same on every worker, with their vectors, fetched from the workers that have them."""
        return _filled(entries, [self._vectors[name].fetch(_rows(entries)) for name in entries.names])


def _rows(entries: Entries) -> np.ndarray:
    assert entries.rows is not None, "entries of a ranking are rows"
    return entries.rows


def _filled(entries: Entries, vectors: list[Float32[Tensor, "entries dim"]]) -> Entries:
    masks = (torch.from_numpy(present[:, None]) for present in entries.present)
    parts = tuple(torch.where(has, part, 0) for has, part in zip(masks, vectors, strict=True))
    return Entries(parts, entries.present, entries.key)


class _OwnQueries:
    """The blocks of queries that this worker ranks: those whose first query it has."""

    def __init__(self, shared: _SharedRows, queries: Entries) -> None:
        self._shared, self._queries = shared, queries
        self._fetched: dict[int, Entries] = {}
        self._parts = []
        for part in slices(len(queries.key), QUERY_CHUNK):
            owners = shared.owners(queries.select(part))
            fetched = shared.fetch(queries.select(part)) if len(owners) > 1 else None
            if owners[0] == shared.rank:
                self._parts.append(part)
                if fetched is not None:
                    self._fetched[part.start] = fetched

    def __iter__(self) -> Iterator[tuple[slice, Entries]]:
        for part in self._parts:
            held = self._fetched.get(part.start)
            yield part, self._shared.own(self._queries.select(part)) if held is None else held


def _direction(shared: _SharedRows, ranking: Ranking, similarity: SimilarityKind) -> Direction:
    counts = PairCounts(ranking.relevance)
    queries = _OwnQueries(shared, ranking.queries)
    blocks: dict[tuple[int, int], np.ndarray] = {}
    for items, held in _blocks(shared, ranking.items):
        for part, entries in queries:
            if counts.relevant_in(part, items):
                block = _scores(entries, held, similarity)
                counts.take(part, items, block)
                keep(blocks, (part.start, items.start), block)
    add_scores(counts, shared.device)
    for items, held in _blocks(shared, ranking.items):
        for part, entries in queries:
            name = part.start, items.start
            counts.count(part, blocks.pop(name) if name in blocks else _scores(entries, held, similarity))
    add_counts(counts, shared.device)
    return of_standing(ranking, counts.standing())


def _blocks(shared: _SharedRows, items: Entries) -> Iterator[tuple[slice, Entries]]:
    return ((part, shared.fetch(items.select(part))) for part in slices(len(items.key), ITEM_CHUNK))


def _scores(queries: Entries, items: Entries, similarity: SimilarityKind) -> np.ndarray:
    return block_scores(queries, items, similarity)(slice(0, len(queries.key)), slice(0, len(items.key)))
