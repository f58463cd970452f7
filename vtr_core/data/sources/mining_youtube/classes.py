"""The classes of Mining YouTube: which class an annotated phrase belongs to, and the words that describe a class."""

from collections.abc import Iterable, Iterator

# The published dictionary holds stems; these are not words of the language, or another word, so no text would match.
_WORDS = {
    "asparagu": "asparagus",
    "blueberrie": "blueberry",
    "fill": "filling",
    "leave": "leaf",
    "season": "seasoning",
    "strawberrie": "strawberry",
    "topp": "topping",
}
_VERBS = {"pres": "press", "tos": "toss"}
_SPELLINGS = {
    "appy": "apply",
    "leaf": "leave",
    "omelet": "omelette",
    "omellete": "omelette",
    "sauté": "saute",
    "them": "it",
}
_ENDINGS = ("s", "es", "ing", "ed")


def class_of(phrase: str, classes: Iterable[str]) -> str | None:
    """The class of an annotated phrase, such as `crack_eggs` → `crack_egg`, or None where it has none.

    A class is a verb and one object. Of a phrase's first word and each later one in turn, the stems that make a class
    together are taken: the word itself, without a plural, -ing or -ed, and with the commonest slips mended. So
    `add_onions_green` is `add_onion`, and of two objects the first counts.
    """
    known = classes if isinstance(classes, frozenset | set | dict) else set(classes)
    verb, *objects = phrase.strip().lower().split("_")
    pairs = (f"{v}_{o}" for word in objects for v in _stems(verb) for o in _stems(word))
    return next((pair for pair in pairs if pair in known), None)


def class_text(name: str) -> str:
    """The text that describes a class: its verb and its object as words, `crack_egg` → `crack egg`.

    The dictionary's stems that are no words are written out: `toss`, `asparagus`, `topping`.
    """
    verb, _, thing = name.partition("_")
    return f"{_VERBS.get(verb, verb)} {_WORDS.get(thing, thing)}".strip()


def _stems(word: str) -> Iterator[str]:
    """The word, then what is left of it without endings, nearest first."""
    yield word
    if word in _SPELLINGS:
        yield _SPELLINGS[word]
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) > len(ending):
            stem = word.removesuffix(ending)
            yield stem
            if ending in ("ing", "ed"):
                yield stem + "e"
                yield stem[:-1]
            elif stem.endswith("ing"):
                yield stem.removesuffix("ing")
