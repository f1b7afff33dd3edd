import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.errors import ModelFolderError
from mlxp_core.loading.sketch_tokenizer import MARKERS, sketch_tokenizer
from mlxp_core.prompting import Tokenizer, read_parts

WORDS = st.text(alphabet=st.one_of(st.sampled_from("the <>|/ \n"), st.characters(codec="utf-8")), max_size=80)


def spelled(*, strip=0, mark="\u2581"):
    """A SentencePiece-like tokenizer.json: visible spaces, single bytes where no piece fits."""
    pieces = [
        "<pad>",
        "<s>",
        "</s>",
        "<unk>",
        *(f"<0x{byte:02X}>" for byte in range(256)),
        mark,
        "a",
        "b",
        mark + "a",
    ]
    decoders = [
        {"type": "Replace", "pattern": {"String": mark}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
        *([{"type": "Strip", "content": " ", "start": strip, "stop": 0}] if strip else []),
    ]
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "added_tokens": [{"id": place, "content": pieces[place], **special} for place in range(4)],
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": mark},
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": decoders},
        "model": {
            "type": "BPE",
            "unk_token": "<unk>",
            "fuse_unk": True,
            "byte_fallback": True,
            "vocab": {piece: place for place, piece in enumerate(pieces)},
            "merges": [[mark, "a"]],
        },
    }


def opened(value, **options):
    return Tokenizer(json.dumps(value).encode(), **options)


@pytest.fixture(scope="module", params=["bytes", "pieces"])
def either(request, tokenizer):
    return tokenizer if request.param == "bytes" else opened(spelled(), begin="<s>")


class TestText:
    @given(text=WORDS)
    def test_bytes_of_the_tokens_are_the_bytes_of_the_text(self, either, text):
        tokens = either.encode(text)
        shown = b"".join(either.token_bytes(token) or either.token_text(token).encode() for token in tokens)
        assert shown == text.encode()

    @given(text=WORDS)
    def test_decoding_is_the_way_back(self, either, text):
        assert either.decode(either.encode(text)) == text

    @given(text=WORDS)
    def test_spans_belong_to_the_tokens(self, tokenizer, text):
        tokens, spans = tokenizer.encode_spans(text)
        assert tokens == tokenizer.encode(text)
        for token, (start, end) in zip(tokens, spans, strict=True):
            if token in tokenizer.added_tokens:
                assert text[start:end] == tokenizer.added_tokens[token]

    def test_markers_in_a_text_are_single_tokens(self, tokenizer):
        for token, marker in MARKERS.items():
            assert tokenizer.encode(marker) == [token]
            assert tokenizer.token_id(marker) == token
            assert tokenizer.token_text(token) == marker

    def test_threads_may_share_it(self, tokenizer):
        texts = [f"the user said {number} " * 50 for number in range(64)]
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(tokenizer.encode, texts)) == [tokenizer.encode(text) for text in texts]


class TestTokens:
    def test_special_tokens_stand_for_no_bytes(self, tokenizer):
        assert tokenizer.token_bytes(tokenizer.token_id("<|im_end|>")) == b""

    def test_added_tokens_that_are_text_stand_for_their_letters(self, tokenizer):
        token = tokenizer.token_id("<think>")
        assert token in tokenizer.added_tokens
        assert token not in tokenizer.special_tokens
        assert tokenizer.token_bytes(token) == b"<think>"

    def test_padding_rows_stand_for_nothing(self, tokenizer):
        assert tokenizer.size == 384
        assert tokenizer.token_bytes(383) == b""
        assert tokenizer.decode([383]) == ""

    def test_the_ids_in_use_end_where_padding_rows_begin(self, tokenizer):
        known = [token for token in range(tokenizer.size) if tokenizer.decode([token])]
        assert known[-1] < tokenizer.used < tokenizer.size
        assert all(tokenizer.token_text(token) == "" for token in range(tokenizer.used, tokenizer.size))
        assert opened(spelled()).used == 264
        assert opened(spelled(), size=300).used == 264
        assert opened(spelled(), size=100).used == 100

    @pytest.mark.parametrize("token", [-1, 384, 10**9])
    def test_ids_out_of_range_stand_for_nothing(self, tokenizer, token):
        assert tokenizer.token_bytes(token) == b""

    def test_half_a_character_shows_as_a_replacement(self, tokenizer):
        token = tokenizer.encode("ö")[0]
        assert tokenizer.token_bytes(token) == "ö".encode()[:1]
        assert tokenizer.token_text(token) == "\ufffd"

    def test_special_tokens_can_be_hidden(self, tokenizer):
        tokens = tokenizer.encode("<|im_start|>the<think>")
        assert tokenizer.decode(tokens, special=False) == "the<think>"

    def test_the_size_is_the_tokenizers_own_without_another(self):
        assert opened(spelled()).size == 264

    def test_the_json_reads_back(self, tokenizer):
        again = Tokenizer(tokenizer.tokenizer_json().encode())
        assert again.encode("the weather<|im_end|>") == tokenizer.encode("the weather<|im_end|>")


class TestBeginning:
    @pytest.mark.parametrize("text", ["hello", "<s>hello"])
    def test_plain_text_begins_once(self, tokenizer, text):
        tokens = tokenizer.encode(text, special=True)
        assert tokens[0] == 0
        assert tokens[1:] == tokenizer.encode("hello")

    def test_rendered_text_gets_nothing(self, tokenizer):
        assert 0 not in tokenizer.encode("hello")

    @pytest.mark.parametrize(("begins", "expected"), [(True, [1]), (False, [])])
    def test_where_the_tokenizer_puts_none_the_model_decides(self, begins, expected):
        table = opened(spelled(), begin="<s>", begins=begins)
        assert table.encode("a", special=True) == [*expected, *table.encode("a")]

    def test_without_such_a_token_there_is_none(self):
        table = opened(spelled(), begin="<|nowhere|>", begins=True)
        assert table.begin is None
        assert table.encode("a", special=True) == table.encode("a")


class TestFiles:
    @pytest.mark.parametrize("text", [b"", b"{}", b"[]", b"\xff", b'{"model": {"type": "Magic"}}'])
    def test_what_is_no_tokenizer_is_refused(self, text):
        with pytest.raises(ModelFolderError, match=r"tokenizer\.json"):
            Tokenizer(text)

    def test_truncation_in_the_file_has_no_effect(self):
        value = sketch_tokenizer()
        value["truncation"] = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
        assert len(opened(value).encode("weather " * 9)) > 4

    def test_the_parts_are_read_without_the_rest(self, tmp_path):
        path = tmp_path / "tokenizer.json"
        path.write_text(json.dumps(sketch_tokenizer()))
        parts = read_parts(path)
        assert {token.id: token.content for token in parts.added_tokens if token.id in MARKERS} == MARKERS

    @pytest.mark.parametrize("name", ["gemma4", "qwen35"])
    def test_real_tokenizers_spell_what_they_decode(self, shared, name):
        table = Tokenizer((shared / "assets" / name / "tokenizer.json").read_bytes())
        text = "Grüße, 世界! 👩‍👩‍👧\tx  y\n\n<b>1 + 1 = 2</b> naïve"
        tokens = table.encode(text)
        assert b"".join(map(table.token_bytes, tokens)).decode() == table.decode(tokens) == text
