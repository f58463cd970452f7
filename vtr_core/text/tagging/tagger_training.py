"""Training of a small spaCy tagger on a treebank, its pipeline, and its accuracy."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed
from spacy.vocab import Vocab
from thinc.api import Adam, Optimizer

from vtr_core.errors import InputError
from vtr_core.text.tagging.lemmatiser import FACTORY, Lemmatiser
from vtr_core.text.tagging.tagger import PosTagger, part_of
from vtr_core.text.tagging.treebank import Sentence, TaggerSettings, as_captions, as_scene

TAGGER, VECTORS, LEMMATISER = "morphologizer", "tok2vec", "lemmatiser"


def empty_pipeline(settings: TaggerSettings) -> Language:
    """The untrained pipeline: word vectors from hashes of four word features, convolutions, a linear tagging layer.

    The lemmatiser is added after training.
    """
    language = spacy.blank("en")
    language.add_pipe(VECTORS, config={"model": _vectors(settings)})
    language.add_pipe(TAGGER, config={"model": _layer(settings)})
    return language


def _vectors(settings: TaggerSettings) -> dict[str, Any]:
    return {
        "@architectures": "spacy.Tok2Vec.v2",
        "embed": {
            "@architectures": "spacy.MultiHashEmbed.v2",
            "width": settings.width,
            "attrs": ["NORM", "PREFIX", "SUFFIX", "SHAPE"],
            "rows": list(settings.rows),
            "include_static_vectors": False,
        },
        "encode": {
            "@architectures": "spacy.MaxoutWindowEncoder.v2",
            "width": settings.width,
            "window_size": 1,
            "maxout_pieces": settings.pieces,
            "depth": settings.depth,
        },
    }


def _layer(settings: TaggerSettings) -> dict[str, Any]:
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": settings.width, "upstream": VECTORS}
    return {"@architectures": "spacy.Tagger.v2", "tok2vec": listener, "nO": None}


def save_pipeline(
    language: Language, lemmatiser: Lemmatiser, settings: TaggerSettings, meta: dict[str, Any], folder: Path
) -> int:
    """Write a trained tagger with its lemmatiser, and return the size in bytes.

    The vocabulary met in training is left out: vectors are looked up by hashes of words.
    """
    packed = empty_pipeline(settings)
    packed.from_bytes(language.to_bytes(exclude=["vocab"]), exclude=["vocab"])
    packed.meta.update(meta)
    added = packed.add_pipe(FACTORY, name=LEMMATISER)
    assert isinstance(added, Lemmatiser)
    added.from_lemmatiser(lemmatiser)
    folder.mkdir(parents=True, exist_ok=True)
    packed.to_disk(folder)
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


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


@dataclass(frozen=True)
class TaggerAccuracy:
    """Shares of words, in [0, 1]."""

    words: int
    tags: float
    """The universal tag is right."""
    parts: float
    """The part of speech that concepts are made of is right, none counting as one."""
    lemmas: float
    """The lemma is right, in lower case."""
    concepts: float
    """Of the words that have a part of speech: part and lemma are both right."""


@dataclass(frozen=True)
class TreebankAccuracy:
    """Accuracy on the sentences of a treebank as they are, and in the style of captions (see `as_captions`)."""

    sentences: TaggerAccuracy
    captions: TaggerAccuracy


def treebank_accuracy(tagger: PosTagger, sentences: Sequence[Sentence]) -> TreebankAccuracy:
    """Both accuracies of a tagger, with the treebank's tokenisation."""
    return TreebankAccuracy(accuracy(tagger, sentences), accuracy(tagger, list(as_captions(sentences))))


def accuracy(tagger: PosTagger, sentences: Sequence[Sentence]) -> TaggerAccuracy:
    """The accuracy over all words of all sentences; InputError where there are none."""
    tagged = tagger.tag([word.text for word in sentence] for sentence in sentences)
    pairs = [
        (true, found)
        for sentence, caption in zip(sentences, tagged, strict=True)
        for true, found in zip(sentence, caption, strict=True)
    ]
    if not pairs:
        raise InputError("there is no word to measure a tagger on")
    same_part = [part_of(true.pos) == part_of(found.pos) for true, found in pairs]
    same_lemma = [true.lemma.lower() == found.lemma.lower() for true, found in pairs]
    naming = [part_of(true.pos) is not None for true, _ in pairs]
    both = [part and lemma for part, lemma, names in zip(same_part, same_lemma, naming, strict=True) if names]
    return TaggerAccuracy(
        words=len(pairs),
        tags=_share([true.pos == found.pos for true, found in pairs]),
        parts=_share(same_part),
        lemmas=_share(same_lemma),
        concepts=_share(both),
    )


def _share(right: Sequence[bool]) -> float:
    return sum(right) / len(right) if right else 0.0
