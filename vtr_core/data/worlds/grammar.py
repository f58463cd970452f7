"""Synthetic narrations: spoken-style sentences with content words for concepts, and filler words."""

from collections.abc import Mapping

import numpy as np

OPENERS = ("", "", "so", "okay so", "and now", "and then", "next", "all right", "well now", "as i said", "you see")
SUBJECTS = ("we", "you", "i", "they", "she", "he", "somebody")
MODALS = ("will", "can", "should", "wants to", "is going to", "has to", "needs to")
VAGUE_VERBS = ("take", "get", "handle", "show", "use", "go for")
VAGUE_OBJECTS = ("it", "this", "that one", "everything", "some of them")
WITH = ("with the", "using the", "with a", "and for that there is the")
IN = ("in the", "here in the", "at the", "right there in the")
CLOSERS = (
    "",
    "",
    "",
    "like this",
    "just like that",
    "if you want",
    "very carefully",
    "really quick",
    "you know",
    "again",
)
TEMPLATES = (
    "{opener} {subject} {modal} {verb} {object} {tool} {place} {closer}",
    "{opener} {place} {subject} {modal} {verb} {object} {tool} {closer}",
    "{opener} {tool} {subject} {modal} {verb} {object} {place} {closer}",
    "{opener} look at {object} {place} because {subject} {modal} {verb} it {tool} {closer}",
    "{opener} {place} {object} is what {subject} {modal} {verb} {tool} {closer}",
)


def narrate(words: Mapping[str, str], rng: np.random.Generator) -> str:
    """A sentence with the given content words, {slot: word}, and no information on other slots.

    Template and filler do not depend on the words, nor on which slots are absent beyond what takes their places.
    """

    def one(choices: tuple[str, ...]) -> str:
        return choices[rng.integers(len(choices))]

    def after(introductions: tuple[str, ...], slot: str) -> str:
        introduction = one(introductions)
        return f"{introduction} {words[slot]}" if slot in words else ""

    parts = {
        "opener": one(OPENERS),
        "closer": one(CLOSERS),
        "modal": one(MODALS),
        "subject": f"the {words['agent']}" if "agent" in words else one(SUBJECTS),
        "verb": words["action"] if "action" in words else one(VAGUE_VERBS),
        "object": f"the {words['object']}" if "object" in words else one(VAGUE_OBJECTS),
        "tool": after(WITH, "tool"),
        "place": after(IN, "place"),
    }
    return " ".join(one(TEMPLATES).format(**parts).split())
