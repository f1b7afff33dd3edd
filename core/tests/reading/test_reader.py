"""One choice's tokens to events."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_core.contracts import CallArguments, CallEnd, CallName, ThinkingFormat, ToolFormat
from mlxp_core.reading import ATTRIBUTE_TAGS, CallBlock, End, Reader, TaggedCall
from mlxp_core.testing.formats import TOOLS
from mlxp_core.testing.reading import (
    TextTokens,
    called,
    check_answer,
    random_cuts,
    read,
    shown,
    thought,
    whole,
)
from mlxp_core.types import (
    CallBroken,
    CallDelta,
    CallDone,
    CallStarted,
    GenerateRequest,
    RawScore,
    Scored,
    TextDelta,
    ThinkingDelta,
    TokenScore,
    ToolChoice,
)

THINKING = ThinkingFormat(name="t", open="<think>", close="</think>")
CHANNEL = ThinkingFormat(name="c", open="<|channel>", close="<channel|>", header="thought\n")
ELEMENTS = ToolFormat(
    name="e",
    openers=("<function",),
    keeps=("</function>",),
    parser=lambda tools: CallBlock({}, {"<function": lambda: TaggedCall((ATTRIBUTE_TAGS,), tools, ())}),
)
CALL = '<function name="list.files-now"></function>'
MARKERS = ("<think>", "</think>", "<function", "</function>")


def reader_of(table, *, end_tokens=frozenset(), thinking=THINKING, tools=ELEMENTS, inside=False, **asked):
    request = GenerateRequest(id="r", model="m", prompt="", **{"tools": TOOLS, **asked})
    return Reader(
        request, table=table, end_tokens=end_tokens, thinking=thinking, tools=tools, inside_thinking=inside
    )


def listen(text, *, markers=MARKERS, reason="stop", cuts=(), **asked):
    table = TextTokens(markers)
    reader = reader_of(table, **asked)
    events, end = read(reader, table.tokens(text, cuts), reason)
    check_answer(events)
    return whole(events), end, reader


def kinds(events):
    return [type(event) for event in events]


def test_thinking_then_a_call_then_text():
    events, end, _ = listen(f"<think>\nhm\n</think>\n\n{CALL}\n{CALL}\nDone.")
    assert events[0] == ThinkingDelta("hm")
    assert kinds(events[1:]) == [CallStarted, CallDelta, CallDone] * 2 + [TextDelta]
    assert shown(events) == "\nDone."
    assert end == End("calls")


def test_calls_inside_thinking_are_no_calls():
    events, end, _ = listen(f"<think>{CALL}</think>42")
    assert events == (ThinkingDelta(CALL), TextDelta("42"))
    assert end == End("stop")


def test_nothing_shows_around_calls_but_text():
    assert shown(listen(f"\n {CALL}\n\n")[0]) == ""
    assert shown(listen(f"Sure.\n{CALL}")[0]) == "Sure.\n"
    assert shown(listen("\n ")[0]) == "\n "
    assert shown(listen("\n <function x")[0]) == "\n <function x"


@pytest.mark.parametrize("markers", [MARKERS, ()])
@settings(deadline=None)
@given(
    data=st.data(), seed=st.integers(0, 2**32), stop=st.sampled_from([(), ("b</",), ("\na",), ("</think>",)])
)
def test_any_cut_gives_the_same(markers, data, seed, stop):
    scraps = [*MARKERS, CALL, CALL[:20], CALL[20:], "<thi", "nk>", "\n", " ", "a", "b"]
    text = "".join(data.draw(st.lists(st.sampled_from(scraps), max_size=12)))
    inside, reason = data.draw(st.booleans()), data.draw(st.sampled_from(["stop", "length"]))
    asked = {"markers": markers, "inside": inside, "reason": reason, "stop": stop}
    events, end, reader = listen(text, **asked)
    cut_events, cut_end, cut_reader = listen(text, cuts=random_cuts(len(text), seed), **asked)
    strip = [event for event in events if not isinstance(event, CallStarted)]
    assert [event for event in cut_events if not isinstance(event, CallStarted)] == strip
    assert (cut_end, cut_reader.warnings) == (end, reader.warnings)


def test_gemma_channels():
    for markers in (("<|channel>", "<channel|>"), ()):
        asked = {"markers": markers, "thinking": CHANNEL, "tools": None}
        assert listen("<|channel>thought\nX<channel|>Y", **asked)[0] == (ThinkingDelta("X"), TextDelta("Y"))
        assert listen("<|channel>thought\n<channel|>Y", **asked)[0] == (TextDelta("Y"),)
        assert listen("<|channel>thou", reason="length", **asked)[0] == (ThinkingDelta("thou"),)
        assert listen("Y", **asked)[0] == (TextDelta("Y"),)


def test_stop_strings_end_the_answer_but_not_thinking_or_calls():
    call = '<function name="book_table"><param name="notes">STOP</param></function>'
    events, end, _ = listen(f"<think>STOP</think>{call}a STOP b", stop=("STOP",))
    assert thought(events) == "STOP"
    assert called(events) == [("book_table", {"notes": "STOP"})]
    assert shown(events) == "a "
    assert end == End("stop", "STOP")


def test_a_stop_string_ends_the_choice_with_the_token_that_completes_it():
    table = TextTokens()
    reader = reader_of(table, stop=("STOP",), tools=None, thinking=None)
    said = [reader.feed(table.token(text)) for text in ("a ST", "OP b", "c")]
    assert said == [[TextDelta("a ")], [], []]
    assert reader.end == End("stop", "STOP")
    assert reader.completion_tokens == 2
    assert reader.finish("length") == ([], End("stop", "STOP"))


def test_an_end_token_flushes_and_counts():
    table = TextTokens(["<end>"])
    reader = reader_of(table, end_tokens=frozenset({table.token_id("<end>")}))
    assert reader.feed(table.token("ok <thi")) == [TextDelta("ok ")]
    assert reader.feed(table.token_id("<end>")) == [TextDelta("<thi")]
    assert (reader.end, reader.completion_tokens) == (End("stop"), 2)


def test_length_wins_and_a_cut_call_is_broken():
    events, end, _ = listen(f"{CALL}{CALL[:-4]}", reason="length")
    assert kinds(events) == [CallStarted, CallDelta, CallDone, CallStarted, CallBroken]
    assert events[-1].text == CALL[:-4]
    assert end == End("length")
    assert listen(CALL, reason="length")[1] == End("length")
    assert listen(CALL, reason="cancelled")[1] == End("cancelled")


def test_a_call_that_the_model_left_unfinished_means_it_did_not_call():
    broken = '<function name="book_table"><param name="notes"><![CDATA[x'
    events, end, _ = listen(CALL + broken)
    assert isinstance(events[-1], CallBroken)
    assert end == End("stop")


def test_choosing_no_tool_shows_markup_as_text():
    events, end, _ = listen(f"a{CALL}", tool_choice=ToolChoice("none"))
    assert (events, end) == ((TextDelta(f"a{CALL}"),), End("stop"))


def test_the_first_call_ends_the_choice_when_calls_are_not_parallel():
    table = TextTokens(MARKERS)
    reader = reader_of(table, tool_choice=ToolChoice(parallel=False))
    events = [event for token in table.tokens(f"{CALL} more {CALL}") for event in reader.feed(token)]
    assert kinds(events) == [CallStarted, CallDelta, CallDone]
    assert reader.end == End("calls")


def test_text_behind_a_block_is_read_like_any_other():
    class Greedy:
        """Knows only at the last moment that the block was over long ago."""

        def __init__(self):
            self.rest, self._text = None, ""

        def feed(self, text):
            self._text += text
            if self._text.endswith("!"):
                self.rest = self._text[1:]
                return [CallName("list.files-now"), CallArguments("{}"), CallEnd()]
            return []

        def finish(self, *, cut):
            return []

    greedy = ToolFormat(name="g", openers=("[",), keeps=("]",), parser=lambda tools: Greedy())
    table = TextTokens(["[", "]", "<think>", "</think>"], special=False)
    events, _ = read(reader_of(table, tools=greedy), table.tokens("[a<think>b</think>c]d!"))
    assert kinds(whole(events)) == [CallStarted, CallDelta, CallDone, TextDelta, ThinkingDelta, TextDelta]
    assert (thought(events), shown(events)) == ("b", "ac]d!")


def test_thinking_is_counted_in_tokens_with_its_markers():
    table = TextTokens(MARKERS)
    reader = reader_of(table)
    for token in [*table.tokens("<think>abc</think>de", range(99))]:
        reader.feed(token)
    reader.finish("stop")
    assert (reader.thinking_tokens, reader.completion_tokens) == (5, 7)
    text = TextTokens()
    reader = reader_of(text, inside=True)
    for piece in ("why", "</thi", "nk>", "42"):
        reader.feed(text.token(piece))
    assert (reader.thinking_tokens, reader.completion_tokens) == (3, 4)


def score(number):
    return RawScore(-float(number), ((0, -0.5),))


def scored(events):
    return [int(-event.chosen.logprob) for event in events if isinstance(event, Scored)]


def test_scores_come_right_before_the_text_they_belong_to():
    table = TextTokens(MARKERS)
    reader = reader_of(table, stop=("STOP",))
    pieces = ["<think>", "hm", "</think>", "\n", "a", "b S", "TO", "x", CALL, "y", "ST", "OP"]
    tokens = [token for piece in pieces for token in table.tokens(piece)]
    said = [reader.feed(token, score(number)) for number, token in enumerate(tokens)]
    events = [event for some in said for event in some]
    assert scored(events) == [4, 5, 6, 7, len(tokens) - 3]
    assert kinds(said[4]) == [Scored, TextDelta]
    assert kinds(said[5]) == [Scored, TextDelta]
    assert kinds(said[6]) == []
    assert kinds(said[7]) == [Scored, Scored, TextDelta]
    assert reader.end == End("stop", "STOP")


def test_markup_that_shows_is_scored_like_any_text():
    table = TextTokens(MARKERS)
    reader = reader_of(table, tool_choice=ToolChoice("none"))
    events = reader.feed(table.token_id("<function"), score(1))
    rival = TokenScore(0, "<think>", b"<think>", -0.5)
    chosen = TokenScore(table.token_id("<function"), "<function", b"<function", -1.0)
    assert events == [Scored(chosen, (rival,)), TextDelta("<function")]


def test_a_score_has_the_text_and_bytes_of_its_tokens(sketch):
    request = GenerateRequest(id="r", model="m", prompt="", top_scores=1)
    reader = Reader(request, table=sketch, end_tokens=frozenset())
    first, second = sketch.encode("é")
    rival = sketch.encode("a")[0]
    assert reader.feed(first, RawScore(-1.0, ((rival, -0.5),))) == []
    events = reader.feed(second, RawScore(-2.0))
    assert events == [
        Scored(TokenScore(first, "\ufffd", b"\xc3", -1.0), (TokenScore(rival, "a", b"a", -0.5),)),
        Scored(TokenScore(second, "\ufffd", b"\xa9", -2.0)),
        TextDelta("é"),
    ]


def test_events_carry_their_choice(sketch):
    request = GenerateRequest(id="r", model="m", prompt="")
    reader = Reader(request, table=sketch, end_tokens=frozenset(), choice=3)
    assert next(event for token in sketch.encode("hello") for event in reader.feed(token)).choice == 3


@settings(deadline=None)
@given(text=st.text(max_size=60))
def test_without_formats_text_passes_untouched(sketch, text):
    request = GenerateRequest(id="r", model="m", prompt="")
    reader = Reader(request, table=sketch, end_tokens=frozenset())
    tokens = [token for token in sketch.encode(text) if token not in sketch.special_tokens]
    events, _ = read(reader, tokens)
    assert shown(events) == sketch.decode(tokens)
    assert thought(events) == ""


def test_real_markers_are_found_by_their_text(real_tokenizer):
    form = THINKING if real_tokenizer.token_id("<think>") is not None else CHANNEL
    request = GenerateRequest(id="r", model="m", prompt="")
    reader = Reader(request, table=real_tokenizer, end_tokens=frozenset(), thinking=form)
    text = f"{form.open}{form.header}Grübeln 🍜{form.close}\n\nTee?"
    events, _ = read(reader, real_tokenizer.encode(text))
    assert whole(events) == (ThinkingDelta("Grübeln 🍜"), TextDelta("Tee?"))
