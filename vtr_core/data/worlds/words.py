"""The vocabulary of synthetic clips: each concept has one to three names, and no word names two concepts."""

from functools import cache

SLOTS = ("agent", "action", "object", "tool", "place")

_LISTED = {
    "agent": """woman/lady man/guy chef girl boy gardener mechanic teacher/instructor grandmother/grandma
        carpenter/woodworker artist/painter doctor/physician farmer student/pupil barber/hairdresser dancer plumber
        electrician baker tailor/seamstress athlete potter nurse fisherman/angler photographer musician engineer soldier
        scientist/researcher clown blacksmith butcher florist pilot sailor monk waiter/waitress librarian lifeguard
        magician/wizard""",
    "action": """cut/chop/slice stir/mix/blend clean/wash/rinse paint fold peel measure fry/saute bake/roast boil/simmer
        glue/attach smooth/polish carve sew/stitch bend/flex lift/raise pour press/squeeze wrap/cover open/unlock
        pierce/perforate shake crush/smash trim/prune draw/sketch weigh repair/fix/mend assemble/build remove/detach
        heat/warm freeze/chill dry roll tie throw/toss catch/grab inspect/examine decorate/garnish spray weave/knit""",
    "object": """onion/shallot dough/pastry tomato potato/spud chicken/poultry board/plank shirt/blouse bike/bicycle
        engine/motor cake/cupcake paper hair wall flower/blossom fish/salmon guitar car/vehicle phone/smartphone egg
        rice bread/loaf apple carrot cheese/cheddar bowl/dish box/carton bottle/flask chair/stool table/desk
        shoe/sneaker pipe/tube wire/cable candle clay leather/suede curtain/drape window door statue/figurine
        necklace/pendant""",
    "tool": """knife/blade spoon/ladle brush hammer/mallet pan/skillet scissors/shears tape wrench/spanner needle stove
        tongs/tweezers fork whisk bucket/pail sponge rope/cord pliers screwdriver ruler drill saw chisel towel/cloth
        machine camera roller axe/hatchet rake shovel/spade hose torch clamp/vise stapler thermometer grater
        strainer/sieve trowel lathe pump crane""",
    "place": """kitchen garden/backyard/yard garage studio workshop/shed bathroom/washroom office classroom/schoolroom
        street/road beach/shore park gym hospital/clinic farm/ranch restaurant/diner bakery forest/woods basement/cellar
        balcony/terrace barn/stable store/shop/market river/creek stage/theater library bedroom laboratory/lab
        church/chapel factory/mill harbor/dock tent castle airport museum/gallery desert mountain/hill bridge
        stadium/arena station rooftop cabin/cottage""",
}
_CONCEPTS = {slot: tuple(tuple(names.split("/")) for names in text.split()) for slot, text in _LISTED.items()}
_SYLLABLES = tuple(consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou")
_PREFIXES = dict(zip(SLOTS, ("xa", "xe", "xi", "xo", "xu"), strict=True))


def names(slot: str, concept: int) -> tuple[str, ...]:
    """The words for a concept: English ones for the first forty of a slot, a made-up one for others."""
    listed = _CONCEPTS[slot]
    return listed[concept] if concept < len(listed) else (_made_up(slot, concept),)


def _made_up(slot: str, concept: int) -> str:
    """A unique word for (slot, concept): the slot's prefix, then the number in base 70 with syllables as digits."""
    word = ""
    while concept:
        concept, digit = divmod(concept, len(_SYLLABLES))
        word = _SYLLABLES[digit] + word
    return _PREFIXES[slot] + word


@cache
def lexicon(num_concepts: int) -> dict[str, tuple[int, int]]:
    """The meaning of every word: {word: (position of its slot in SLOTS, concept)}."""
    return {
        word: (position, concept)
        for position, slot in enumerate(SLOTS)
        for concept in range(num_concepts)
        for word in names(slot, concept)
    }
