"""Training of a small spaCy tagger on a treebank."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed
from spacy.vocab import Vocab
from thinc.api import Adam, Optimizer

from vtr_core.text.tagging.pipeline import empty_pipeline
from vtr_core.text.tagging.scenes import as_scene
from vtr_core.text.tagging.settings import TaggerSettings
from vtr_core.text.tagging.treebank import Sentence, as_captions

_WARM_UP = 250
_LAST_RATE = 0.1


@dataclass(frozen=True)
class TaggerEpoch:
    """Tag accuracy after an epoch on the dev part, whose sentences count as they are and in the style of captions."""

    epoch: int
    loss: float
    tags: float


def train_tagger(
    train: Sequence[Sentence], dev: Sequence[Sentence], settings: TaggerSettings, report: Callable[[TaggerEpoch], None]
) -> Language:
    """The tagger of the best epoch, with weights averaged over the training steps.

    Every epoch shows each sentence once: a share `caption_share`, drawn anew, in the style of captions (`as_captions`),
    and a share `scene_share` of these rewritten as scenes (`as_scene`). Deterministic.
    report: called after every epoch.
    """
    fix_random_seed(settings.seed)
    order = random.Random(settings.seed)
    language = empty_pipeline(settings)
    captions = [next(as_captions([sentence]), None) for sentence in train]
    optimizer = Adam(settings.learning_rate, L2=0.01, grad_clip=1.0, L2_is_weight_decay=True, use_averages=True)
    shown = [
        _example(language.vocab, sentence)
        for pair in zip(train, captions, strict=True)
        for sentence in pair
        if sentence
    ]
    language.initialize(lambda: shown, sgd=optimizer)
    test = [_example(language.vocab, sentence) for sentence in (*dev, *as_captions(dev))]
    words = sum(map(len, train))
    steps = _Rate(settings, words // settings.batch_words * settings.epochs)
    best: tuple[float, bytes] = (-1.0, b"")
    for epoch in range(1, settings.epochs + 1):
        loss = _epoch(language, train, captions, settings, order, optimizer, steps)
        with language.use_params(optimizer.averages):
            found = language.evaluate(test, batch_size=256)
            done = TaggerEpoch(epoch, loss, found["pos_acc"])
            if done.tags > best[0]:
                best = done.tags, language.to_bytes(exclude=["vocab"])
        report(done)
    return language.from_bytes(best[1], exclude=["vocab"])


class _Rate:
    """The learning rate of every step: a linear rise, then a linear fall."""

    def __init__(self, settings: TaggerSettings, steps: int) -> None:
        self._peak, self._steps, self._step = settings.learning_rate, max(1, steps), 0

    def next(self) -> float:
        """The rate of the next step."""
        self._step += 1
        fall = 1 - (1 - _LAST_RATE) * min(1.0, self._step / self._steps)
        return self._peak * min(1.0, self._step / _WARM_UP) * fall


def _epoch(
    language: Language,
    train: Sequence[Sentence],
    captions: Sequence[Sentence | None],
    settings: TaggerSettings,
    order: random.Random,
    optimizer: Optimizer,
    rate: _Rate,
) -> float:
    """The sum of the losses of an epoch."""
    losses: dict[str, float] = {}
    for batch in _batches(train, captions, settings, order):
        optimizer.learn_rate = rate.next()
        examples = [_example(language.vocab, sentence) for sentence in batch]
        language.update(examples, sgd=optimizer, drop=settings.dropout, losses=losses)
    return sum(losses.values())


def _batches(
    train: Sequence[Sentence], captions: Sequence[Sentence | None], settings: TaggerSettings, order: random.Random
) -> Iterator[list[Sentence]]:
    """All sentences in a new order, in batches of about `batch_words` words."""
    numbers = list(range(len(train)))
    order.shuffle(numbers)
    batch: list[Sentence] = []
    words = 0
    for number in numbers:
        caption = captions[number] if order.random() < settings.caption_share else None
        if caption is not None and order.random() < settings.scene_share:
            caption = as_scene(caption, order)
        batch.append(caption or train[number])
        words += len(batch[-1])
        if words >= settings.batch_words:
            yield batch
            batch, words = [], 0
    if batch:
        yield batch


def _example(vocab: Vocab, sentence: Sentence) -> Example:
    """A sentence as training example: words without tags, and with their true ones."""
    words = [word.text for word in sentence]
    reference = Doc(vocab, words=words, pos=[word.pos for word in sentence], morphs=["" for _ in sentence])
    return Example(Doc(vocab, words=words), reference)
