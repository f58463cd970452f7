"""The words of synthetic described videos: English nouns, gerunds and adjectives known to taggers.

No word names two concepts. A few words occur as two parts of speech, as in real captions (a cook, to cook).
"""

SLOTS = ("look", "agent", "action", "colour", "object", "place")
LOOK, AGENT, ACTION, COLOUR, OBJECT, PLACE = range(len(SLOTS))

_LISTED = {
    "look": "young old/elderly tall happy/smiling sad angry strong tired",
    "agent": """woman/lady man/guy girl boy cook/chef dancer teacher farmer child/kid player singer doctor worker
        student soldier driver""",
    "action": """cutting/slicing washing holding throwing/tossing painting opening fixing/repairing carrying/lifting
        cooking/frying kicking cleaning/wiping eating building folding breaking/smashing pushing catching
        drawing/sketching closing hiding burning wrapping pouring selling""",
    "colour": "red blue green white black yellow small/tiny big/large brown wooden broken round",
    "object": """ball apple car/vehicle potato bottle paper/page table/desk guitar box/carton bicycle/bike egg
        shirt/blouse door cake phone bread/loaf chair onion book fish lamp rope plate flower boat shoe window bag""",
    "place": """kitchen street/road garden/yard room park beach/shore stage office field forest/woods garage gym
        river market/shop bathroom classroom""",
}
CONCEPTS = tuple(tuple(tuple(names.split("/")) for names in _LISTED[slot].split()) for slot in SLOTS)
"""For each slot its concepts, most frequent first, and for each concept its names."""

PREPOSITIONS = {"beach": "at", "shore": "at", "river": "at", "market": "at", "stage": "on", "field": "on"}
"""Prepositions of place names other than "in"."""
