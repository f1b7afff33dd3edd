import json
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import replace

from mlxp_core.contracts import ModelFamily, ThinkingFormat, ToolFormat, VisionTower
from mlxp_core.errors import BadRequest, ModelFolderError, PluginError, UnsupportedModel
from mlxp_core.loading import Frontend, load_frontend, open_folder
from mlxp_core.types import (
    Capabilities,
    GenerateRequest,
    GenerationDefaults,
    Message,
    Text,
    TextDelta,
    ThinkingDelta,
)

THINK = ThinkingFormat(name="think", open="<think>", close="</think>", switch="enable_thinking")
CALLS = ToolFormat(name="calls", openers=("<function",), parser=lambda tools: None)


class Brought(Struct, frozen=True):
    """What plugins would bring."""

    families: dict[str, ModelFamily]
    tool_formats: dict[str, ToolFormat]
    thinking_formats: dict[str, ThinkingFormat]
    vision_towers: dict[str, VisionTower] = {}


@pytest.fixture
def family(pair):
    return replace(pair, thinking_format="think", tool_format="calls")


def frontend(folder, family):
    return load_frontend(
        open_folder(folder), Brought({family.name: family}, {"calls": CALLS}, {"think": THINK})
    )


def asked(prompt, **options):
    return GenerateRequest(id="r", model="m", prompt=prompt, **options)


CHAT = (Message("user", (Text("hello"),)),)


def change(path, **fields):
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


class TestInfo:
    def test_it_is_what_the_files_say(self, folder, family):
        info = frontend(folder, family).info
        assert (info.id, info.path, info.family) == ("pair", folder.resolve(), "pair")
        assert (info.context, info.vocabulary) == (512, 384)
        assert info.weight_bytes == (folder / "model.safetensors").stat().st_size
        assert info.defaults == GenerationDefaults(temperature=0.9, top_p=0.95)
        assert info.capabilities == Capabilities(chat=True, tools=True, thinking=True, vision=False)

    def test_end_tokens_are_united_with_the_tokenizers(self, folder, family):
        change(folder / "config.json", eos_token_id=1)
        change(folder / "generation_config.json", eos_token_id=[24])
        change(folder / "tokenizer_config.json", eos_token={"content": "<|im_end|>", "special": True})
        front = frontend(folder, family)
        assert front.end_tokens == front.tokenizer.end_tokens == {1, 24, 25}

    @pytest.mark.parametrize(
        ("template", "expected"),
        [
            ("{{ messages[0].content }}", (False, False)),
            ("{{ messages[0].content }}{{ tools }}", (True, False)),
            ("{{ messages[0].content }}{{ enable_thinking }}", (False, True)),
            ("{{ messages[0].content }}<think>", (False, True)),
        ],
    )
    def test_a_model_can_what_its_template_can(self, folder, family, template, expected):
        (folder / "chat_template.jinja").write_text(template)
        can = frontend(folder, family).info.capabilities
        assert (can.tools, can.thinking) == expected

    def test_without_formats_there_is_neither(self, folder, pair):
        can = frontend(folder, pair).info.capabilities
        assert (can.chat, can.tools, can.thinking) == (True, False, False)

    def test_without_a_size_in_the_config_the_tokenizer_says_it(self, folder, family):
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(
            json.dumps({k: v for k, v in config.items() if k != "vocab_size"})
        )
        folder_read = open_folder(folder)
        assert Frontend(folder_read, family, None).info.vocabulary == 378


class TestWithoutTemplate:
    @pytest.fixture
    def bare(self, folder, family):
        (folder / "chat_template.jinja").unlink()
        return frontend(folder, family)

    def test_it_says_so(self, bare):
        assert bare.info.capabilities == Capabilities(chat=False, tools=False, thinking=False)

    def test_conversations_are_refused_and_text_is_not(self, bare):
        with pytest.raises(BadRequest, match="no chat template"):
            bare.prepare(asked(CHAT))
        assert bare.prepare(asked("hello")).tokens[0] == 0


class TestPlainText:
    def test_it_begins_as_the_models_conversations_do(self, folder, family):
        tokenizer = json.loads((folder / "tokenizer.json").read_text())
        (folder / "tokenizer.json").write_text(json.dumps({**tokenizer, "post_processor": None}))
        config = json.loads((folder / "tokenizer_config.json").read_text())
        for stated, begins in ((True, True), (False, False), (None, True)):
            said = {k: v for k, v in config.items() if k != "add_bos_token"}
            said |= {} if stated is None else {"add_bos_token": stated}
            (folder / "tokenizer_config.json").write_text(json.dumps(said))
            assert (frontend(folder, family).prepare(asked("hello")).tokens[0] == 0) is begins


class TestReader:
    def read(self, front, request, text, *, thinking=None):
        prompt = front.prepare(request)
        reader = front.reader(request, prompt, 3)
        events = [event for token in front.tokenizer.encode(text) for event in reader.feed(token)]
        events += reader.finish("length")[0]
        kinds = {}
        for event in events:
            assert event.choice == 3
            kinds[type(event)] = kinds.get(type(event), "") + event.text
        return kinds

    def test_conversations_are_read_from_where_the_prompt_ends(self, folder, family):
        front = frontend(folder, family)
        said = self.read(front, asked(CHAT, thinking=True), "the reason</think>the answer")
        assert said == {ThinkingDelta: "the reason", TextDelta: "the answer"}

    def test_markup_in_plain_text_is_text(self, folder, family):
        said = self.read(frontend(folder, family), asked("hello"), "a<think>b</think>c")
        assert said == {TextDelta: "a<think>b</think>c"}

    def test_an_end_token_ends_it(self, folder, family):
        front = frontend(folder, family)
        request = asked(CHAT)
        reader = front.reader(request, front.prepare(request), 0)
        reader.feed(25)
        assert reader.end.reason == "stop"


class TestFaults:
    def test_nobody_claims_the_model(self, folder, pair):
        with pytest.raises(UnsupportedModel, match="other"):
            frontend(folder, replace(pair, model_types=("other",)))

    @pytest.mark.parametrize("field", ["thinking_format", "tool_format"])
    def test_a_format_that_nobody_brings(self, folder, pair, field):
        with pytest.raises(PluginError, match=r"'absent'.*there are: (think|calls)"):
            frontend(folder, replace(pair, **{field: "absent"}))

    @pytest.mark.parametrize("name", ["tokenizer.json", "chat_template.jinja"])
    def test_a_broken_file_is_named_with_its_folder(self, folder, family, name):
        (folder / name).write_text('{"added_tokens": [], "model": "{% if %}"}')
        with pytest.raises(ModelFolderError, match=r"^pair: (tokenizer\.json|the chat template)"):
            frontend(folder, family)


def test_every_tiny_checkpoint_has_a_frontend(tiny_checkpoints, pair):
    folders = sorted(path for path in Path(tiny_checkpoints).iterdir() if path.is_dir())
    assert folders
    for path in folders:
        folder = open_folder(path)
        front = Frontend(folder, pair, None, thinking=THINK, tools=CALLS)
        prompt = front.prepare(asked(CHAT))
        assert all(0 <= token < 512 for token in prompt.tokens)
        assert front.info.vocabulary == 512
        assert folder.warnings == ()
