"""Self-critical training: captions are drawn, scored by CIDEr-D, and made more or less probable."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Float64, Int64, Shaped
from torch import Tensor

from vtr_core.data.captions.references import ReferenceTable
from vtr_core.retrieval.embed.evaluating import evaluating
from vtr_core.systems.captioning.config import DecodingConfig, SelfCriticalConfig
from vtr_core.systems.captioning.decoding.draws import Draws
from vtr_core.systems.captioning.decoding.hypotheses import begun
from vtr_core.systems.captioning.decoding.sampling import sample
from vtr_core.systems.captioning.model import Captioned, Captioner


@dataclass(frozen=True)
class Criticism:
    """Sums over a worker's draws."""

    loss: Float[Tensor, ""]
    """−λ a · log p."""
    words: int
    """Words, with end tokens."""
    cider: Float[Tensor, ""]
    """CIDEr-D."""
    captions: int


class SelfCritic:
    """L_sc = −λ Σ a · log p / number of words, over the draws of the whole batch; a: a draw's CIDEr-D less the mean of
    its row's other draws (Rennie et al. 2017; the baseline of Luo 2020, "A better variant of self-critical sequence
    training"). Without dropout the sum's gradient is, in expectation, that of the expected CIDEr-D. With it that is
    approximate: captions are drawn without dropout, and log p is that of the model with it. Rows without frames are
    left out.
    """

    def __init__(self, config: SelfCriticalConfig, references: ReferenceTable) -> None:
        self._config, self._references = config, references

    def draw(
        self,
        model: Captioner,
        frames: Shaped[Tensor, "rows frames *values"],
        mask: Bool[Tensor, "rows frames"],
        codes: Float64[Tensor, "rows samples"],
    ) -> Draws:
        """Captions from the model as it is, without dropout; codes: uniform ones, see `sample`."""
        with evaluating(model):
            words = sample(model, begun(model, frames, mask), codes, self._config.temperature, DecodingConfig())
        return Draws(words.clone(), model.end, self._config.temperature)

    def judge(self, draws: Draws, output: Captioned, clip_key: Int64[Tensor, " rows"]) -> Criticism:
        """The sums of this worker's rows; output: of the model, with log p of the draws."""
        assert output.log_p is not None
        seen, samples = output.present, draws.words.shape[1]
        scores = self._scores(draws, clip_key).to(output.log_p) * seen.unsqueeze(1)
        others = (scores.sum(dim=1, keepdim=True) - scores) / (samples - 1)
        loss = -self._config.weight * ((scores - others) * output.log_p).sum()
        return Criticism(loss, int((draws.words[seen] != 0).sum()), scores.sum(), samples * int(seen.sum()))

    def _scores(self, draws: Draws, clip_key: Int64[Tensor, " rows"]) -> Float64[Tensor, "rows samples"]:
        told = [[[word for word in row if word not in (0, draws.end)] for row in one] for one in draws.words.tolist()]
        return torch.from_numpy(self._references.ciders(clip_key.cpu().numpy(), told))
