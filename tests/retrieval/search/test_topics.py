"""Topics as TRECVID and people write them, and what is none."""

import pytest

from vtr_core.errors import InputError
from vtr_core.retrieval.search.topics import Topic, parse_topics

EXPECTED = (
    Topic("501", "a person playing guitar outdoors"),
    Topic("502", "a man indoors looking at camera & <smiling>"),
)
CHILDREN = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE videoAdhocSearchTopics SYSTEM "https://example.org/topics.dtd">
<videoAdhocSearchTopics>
  <videoAdhocSearchTopic><num> 501 </num><textDescription text="Find shots of a person playing guitar outdoors"/>
  </videoAdhocSearchTopic>
  <videoAdhocSearchTopic><num>502</num><textDescription text="Find shots of a man indoors
     looking at camera &amp; &lt;smiling&gt;"/></videoAdhocSearchTopic>
</videoAdhocSearchTopics>"""
ATTRIBUTES = """<topics xmlns="urn:x"><topic number="501">
<text>Find shots of a person playing guitar outdoors</text></topic>
<topic number="502" text="a man indoors looking at camera &amp; &lt;smiling&gt;"/></topics>"""
LINES = """\ufeff# topics of one year
501 Find shots of a person playing guitar outdoors

502\ta man indoors looking at camera & <smiling>
"""


@pytest.mark.parametrize("text", [CHILDREN, ATTRIBUTES, LINES], ids=["children", "attributes", "lines"])
def test_topics_of_every_form(text: str) -> None:
    assert parse_topics(text.encode(), "topics") == EXPECTED


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no topic"),
        (b"# nothing\n\n", "holds no topic"),
        (b"501\n", "line 1: '501' is no topic"),
        (b"501 a dog\n501 a cat\n", "topic 501 occurs more than once"),
        (b"<topics><topic>", "damaged XML"),
        (b"<topics/>", "holds no topic"),
        (b'<!DOCTYPE t [<!ENTITY a "aaaa">]><t><topic num="1" text="&a;"/></t>', "declares entities"),
        (b"\xff\xfe501", "is not UTF-8"),
    ],
)
def test_what_is_no_file_of_topics(content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_topics(content, "topics")
