"""A copy of Labeled Faces in the Wild on disk or S3: where its people and its pairs of View 2 lie."""

from dataclasses import dataclass

from vtr_core import storage
from vtr_core.data.sources.faces.lfw_pairs import parse_pairs
from vtr_core.data.sources.files.files import read_file
from vtr_core.errors import InputError
from vtr_core.storage import Location, locate

PAIRS = "pairs.txt"
PEOPLE = ("lfw", "lfw_funneled", "lfw-deepfunneled")
"""Folders that the published archives unpack to."""


@dataclass(frozen=True)
class LfwFolder:
    """The people's folder, the file of pairs, and how many folds and pairs it has."""

    people: str
    pairs: str
    folds: int
    num_pairs: int


def lfw_folder(root: str) -> LfwFolder:
    """Finds both in `root`; InputError, which says what it must hold, for any other folder.

    People lie in `root` itself or in the folder of an archive below it.
    """
    place = locate(root)
    storage.check_readable(place)
    if not storage.exists(place / PAIRS):
        raise _not_lfw(root, PAIRS)
    pairs = parse_pairs(read_file(place / PAIRS).decode(errors="replace"), str(place / PAIRS))
    first = pairs[0].first_person
    found = [people for people in _places(place) if any(storage.children(people / first))]
    if not found:
        raise _not_lfw(root, f"photographs of {first}, whom {PAIRS} names first")
    return LfwFolder(found[0].uri, (place / PAIRS).uri, 1 + max(pair.fold for pair in pairs), len(pairs))


def _places(place: Location) -> list[Location]:
    return [place, *(place / name for name in PEOPLE)]


def _not_lfw(root: str, lacking: str) -> InputError:
    return InputError(
        f"{root} has no {lacking}; a copy of LFW holds pairs.txt (View 2), and in the same folder or in one of "
        f"{', '.join(PEOPLE)} below it a folder for each person with photographs, such as "
        "Abel_Pacheco/Abel_Pacheco_0001.jpg"
    )
