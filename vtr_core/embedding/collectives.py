"""Collectives between workers: gathered embeddings and summed loss shares equal those of the whole batch."""

from typing import Any

import torch
import torch.distributed as dist
from jaxtyping import Bool, Float, Int64, Shaped
from torch import Tensor, nn
from torch.nn.functional import pad
from torch.nn.parallel import DistributedDataParallel

from vtr_core.config.training import Wire
from vtr_core.data.batches import RowKeys
from vtr_core.losses.gmc import Sequences
from vtr_core.nn.embeddings import DualEmbeddings, Embeddings


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
