"""What conversations hold, what they look like, and that the evaluation's are none of the training's."""

import re
from collections import Counter

import pytest
from demo_model.codec import Codec
from demo_model.conversation import Reply, Said, plain
from demo_model.drawing import Draw, is_held
from demo_model.feed import WIDTHS, batches, row, width_of
from demo_model.mixture import conversation
from demo_model.questions import CATEGORIES, questions
from demo_model.render import pieces, prompt, said
from demo_model.scoring import score
from demo_model.tasks.arithmetic import difference_steps, product_steps, sum_steps
from demo_model.tasks.knowledge import facts
from demo_model.words import table

from mlxp_core.prompting import ChatTemplate

MANY = range(300)


@pytest.fixture(scope="module")
def codec(folder):
    return Codec(folder / "tokenizer.json")


@pytest.fixture(scope="module")
def template(folder):
    return ChatTemplate((folder / "chat_template.jinja").read_text("utf-8"))


def drawn(number, *, held=False):
    return conversation(Draw(f"test {number}", held=held))


def as_messages(made):
    """Return the conversation as clients send it."""
    messages = [{"role": "system", "content": made.system}] if made.system else []
    question = made.last_question()
    for place, turn in enumerate(made.turns):
        match turn:
            case Said(role, text):
                messages.append({"role": role, "content": text})
            case Reply() as reply:
                calls = [
                    {"function": {"name": call.name, "arguments": call.arguments}} for call in reply.calls
                ]
                thought = reply.thought if made.thinking and place > question else ""
                messages.append(
                    {
                        "role": "assistant",
                        "content": plain(reply.text),
                        "tool_calls": calls,
                        "reasoning_content": plain(thought),
                    }
                )
    return messages


@pytest.mark.parametrize("number", MANY)
def test_the_template_renders_what_is_learned(template, number):
    made = drawn(number)
    rendered = template.render(as_messages(made), tools=[tool.spec() for tool in made.tools], prime=False)
    assert rendered == plain("".join(piece.text for piece in pieces(made)))


@pytest.mark.parametrize("number", MANY)
def test_the_template_asks_as_training_did(template, number):
    made = drawn(number)
    rendered = template.render(
        as_messages(made)[:-1],
        tools=[tool.spec() for tool in made.tools],
        extras={"enable_thinking": made.thinking},
    )
    assert rendered == plain(prompt(made))


@pytest.mark.parametrize("number", MANY)
def test_pieces_are_encoded_as_the_whole_is(codec, number):
    parts = [plain(piece.text) for piece in pieces(drawn(number))]
    whole = "".join(parts)
    ids = codec.tokenizer.encode(whole, add_special_tokens=False).ids
    assert [token for part in parts for token in codec.encode(part)] == ids
    assert codec.decode(ids) == whole


@pytest.mark.parametrize("number", MANY)
def test_the_right_answer_is_scored_as_right(number):
    made = drawn(number)
    last = made.turns[-1]
    thought = f"{last.thought}\n</think>\n\n" if made.thinking and last.thought else ""
    text = plain(thought + said(last))
    assert score(made, text, ended=True) == (True, True)
    assert not score(made, text, ended=False).formed


@pytest.mark.parametrize("category", CATEGORIES)
def test_questions_are_the_same_every_time_and_fit(codec, category):
    asked = questions(category, 20)
    assert asked == questions(category, 20)
    assert all(width_of(len(row(each, codec).tokens)) for each in asked)


def test_no_question_about_made_content_is_in_the_training():
    made = ("addition", "subtraction", "multiplication, thinking", "tools", "strings")
    asked = {
        turn.text
        for name in made
        for each in questions(name, 60)
        for turn in each.turns
        if isinstance(turn, Said)
    }
    told = {turn.text for number in range(3000) for turn in drawn(number).turns if isinstance(turn, Said)}
    shared = {text for text in asked & told if len(text) > 30}
    assert shared == set()


def test_tools_of_the_evaluation_were_never_seen():
    seen = {tool.name for number in range(3000) for tool in drawn(number).tools}
    asked = [call.name for each in questions("tools", 200) for call in each.turns[-1].calls]
    assert sum(name in seen for name in asked) / len(asked) < 0.1  # short names of two tools may be the same


def test_a_key_is_on_one_side():
    assert 0.03 < sum(is_held(str(number)) for number in range(10_000)) / 10_000 < 0.1


def test_a_question_has_one_answer():
    answers = Counter(form.lower() for forms, _, _ in facts() for form in set(forms))
    assert [form for form, count in answers.items() if count > 1] == []


def test_an_answer_holds_its_key():
    assert [fact for fact in facts() if fact[1].lower() not in fact[2].lower()] == []


def test_a_question_about_mlxp_has_one_answer():
    forms = Counter(form.lower() for asked, _ in table("usage") for form in asked.split("|"))
    assert [form for form, count in forms.items() if count > 1] == []


@pytest.mark.parametrize(
    ("a", "b"), [(0, 0), (7, 5), (305, 7), (99, 1), (347, 286), (100, 10), (12, 345), (999, 999)]
)
def test_every_step_is_true(a, b):
    for steps in (sum_steps(a, b), difference_steps(a, b), product_steps(a, b)):
        for left, right in re.findall(r"([\d ×+-]*\d) = (-?\d+)(?= |,|\n|$)(?! [×+-])", steps):
            assert eval(left.replace("×", "*")) == int(right), (left, right)


def test_batches_are_full_and_say_what_is_the_models_own(codec):
    tokens = 6 * 768
    made = next(batches("test", tokens=tokens))
    assert made.kinds.size == tokens
    assert made.kinds.shape[1] in WIDTHS
    assert made.tokens.shape == (made.kinds.shape[0], made.kinds.shape[1] + 1)
    first = made.tokens[0][1:][made.kinds[0] == 2]
    assert "<|im_end|>" in codec.decode(first.tolist())
