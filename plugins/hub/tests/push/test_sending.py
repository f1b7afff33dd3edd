"""Folders arrive at the hub as they are, or not at all."""

import json
from threading import Event

import pytest
import yaml

from mlxp_core.errors import SetupError
from mlxp_hub.errors import HubError
from mlxp_hub.parcel import kind_of, packed, without_home
from mlxp_hub.pushing import pushed
from mlxp_hub.sending import Push

pytestmark = pytest.mark.filterwarnings(
    "ignore:Use 'content=<...>':DeprecationWarning"
)  # huggingface-hub's own


@pytest.fixture
def push(settings):
    """Push a folder; returns what came of it, and what was told meanwhile."""

    def run(folder, repo="me/it", *, breathe=lambda: None, **more):
        told = []
        sent = pushed(
            packed(folder), Push(repo=repo, **more), settings, lambda *each: told.append(each), breathe
        )
        return sent, told

    return run


def front_of(card):
    return yaml.safe_load(card.decode().split("---\n")[1])


def test_a_model_arrives_with_all_its_files_and_a_card(push, receiver, model):
    sent, _ = push(model)
    there = receiver.files("me/it")
    mine = {
        "config.json",
        "mlxp_quantization.json",
        "model-1.safetensors",
        "model-2.safetensors",
        "empty.txt",
    }
    assert set(there) == {*mine, "README.md"}
    assert all(there[name] == (model / name).read_bytes() for name in mine)
    assert (sent.url, sent.files, sent.size_bytes) == (f"{receiver.url}/me/it", 6, packed(model).size_bytes)
    assert receiver.repos["models", "me/it"]["private"]
    assert front_of(there["README.md"]) == {
        "library_name": "mlx",
        "pipeline_tag": "text-generation",
        "base_model": "owner/tiny",
        "tags": ["mlx", "mlxp"],
    }
    assert "4.50 bits a number" in there["README.md"].decode()


def test_adapters_and_datasets_arrive_with_cards_of_their_own(push, receiver, adapter, dataset):
    push(adapter, "me/pirate", private=False, message="Ahoy")
    card = receiver.files("me/pirate")["README.md"]
    assert front_of(card)["base_model"] == "owner/tiny"
    assert "rank 8 for owner/tiny" in card.decode()
    assert receiver.repos["models", "me/pirate"] | {"files": 0} == {
        "private": False,
        "files": 0,
        "commits": ["Ahoy"],
    }
    sent, _ = push(dataset, "me/words")
    there = receiver.files("me/words", "datasets")
    assert set(there) == {"train.jsonl", "valid.jsonl", "README.md"}
    assert sent.url == f"{receiver.url}/datasets/me/words"
    (config,) = front_of(there["README.md"])["configs"]
    assert [file["split"] for file in config["data_files"]] == ["train", "validation"]
    assert "2 train, 1 valid" in there["README.md"].decode()
    assert "by the model owner/big" in there["README.md"].decode()


def test_a_card_of_the_author_is_kept(push, receiver, model):
    (model / "README.md").write_text("Mine.")
    push(model)
    assert receiver.files("me/it")["README.md"] == b"Mine."


def test_notes_do_not_name_folders_of_this_user(push, receiver, model, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    note = {"model": str(tmp_path / "models" / "tiny"), "other": "/elsewhere"}
    (model / "training.json").write_text(json.dumps(note))
    push(model)
    assert json.loads(receiver.files("me/it")["training.json"]) == {
        "model": "~/models/tiny",
        "other": "/elsewhere",
    }
    assert without_home(model / "config.json", tmp_path) is None


def test_large_files_may_go_in_parts(push, receiver, model):
    receiver.part_bytes = 4096
    push(model)
    assert receiver.files("me/it")["model-1.safetensors"] == (model / "model-1.safetensors").read_bytes()
    assert sorted(receiver.puts) == [1808, 1808, 4096, 4096, 4096, 4096]


def test_progress_grows_to_the_end_in_each_stage(push, model):
    sent, told = push(model)
    for stage in ("hashing", "sending"):
        done = [bytes_ for bytes_, _, name in told if name == stage]
        assert done == sorted(done)
        assert max(done) <= sent.size_bytes
    assert told[-1] == (sent.size_bytes, sent.size_bytes, "sending")
    assert {total for _, total, _ in told} == {sent.size_bytes}


def test_a_passing_fault_is_tried_again(push, receiver, model):
    receiver.troubles.extend([500, 503])
    push(model)
    assert receiver.files("me/it")["model-1.safetensors"] == (model / "model-1.safetensors").read_bytes()
    assert len(receiver.puts) == 4


def test_what_has_arrived_is_not_sent_again_and_is_seen_only_when_all_has(push, receiver, model):
    receiver.troubles.extend([None, 403])
    with pytest.raises(HubError, match="me/it"):
        push(model)
    assert receiver.files("me/it") == {}
    assert len(receiver.blobs) == 1
    receiver.puts.clear()
    push(model)
    assert receiver.puts == [10_000]
    receiver.puts.clear()
    sent, _ = push(model)
    assert receiver.puts == []
    assert sent.files == 6


def test_a_push_stops_in_the_middle_of_a_file(settings, receiver, model):
    (model / "model-3.safetensors").write_bytes(b"3" * 30_000_000)
    sending, stopping = Event(), Event()

    def told(_, __, stage):
        if stage == "sending":
            sending.set()
            assert stopping.wait(20)
            Event().wait(0.05)  # a long way to the end of the file, for a wish that comes within moments

    def breathe():
        if sending.is_set():
            stopping.set()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pushed(packed(model), Push(repo="me/it"), settings, told, breathe)
    assert receiver.files("me/it") == {}
    assert 30_000_000 not in receiver.puts


def test_a_private_push_never_lands_in_a_public_repository(push, receiver, model, adapter):
    push(adapter, private=False)
    with pytest.raises(HubError, match="is there already, and public"):
        push(model)
    assert "config.json" not in receiver.files("me/it")
    push(model, private=False)
    assert "config.json" in receiver.files("me/it")


@pytest.mark.parametrize(
    ("status", "words"), [(401, "log in"), (403, "right to write"), (500, "refuses me/it")]
)
def test_what_the_hub_refuses_is_told_with_what_to_do(push, receiver, model, status, words):
    receiver.refused["me/it"] = status
    with pytest.raises(HubError, match=words):
        push(model)


@pytest.mark.parametrize("part_bytes", [None, 10_000])
@pytest.mark.parametrize("status", [403, 404])
def test_an_address_that_lets_whoever_has_it_in_is_not_told(push, receiver, model, status, part_bytes):
    receiver.part_bytes = part_bytes
    receiver.troubles.extend([status] * 50)
    with pytest.raises(HubError, match=str(status)) as refused:
        push(model)
    assert "/lfs/" in refused.value.message
    assert "sesame" not in refused.value.message


def test_a_hub_that_is_not_there_and_a_user_that_is_not_known_are_told(
    push, receiver, model, settings, monkeypatch
):
    parcel, asked = packed(model), Push(repo="me/it")
    away = type(settings)(endpoint="http://127.0.0.1:1", token="x")
    with pytest.raises(HubError, match="cannot be reached"):
        pushed(parcel, asked, away, lambda *_: None, lambda: None)
    monkeypatch.setattr("mlxp_hub.sending.get_token", lambda: None)
    with pytest.raises(HubError, match="log in"):
        pushed(parcel, asked, type(settings)(endpoint=receiver.url), lambda *_: None, lambda: None)


def test_what_is_nothing_to_push_is_refused(tmp_path, model, adapter, dataset):
    assert [kind_of(folder) for folder in (model, adapter, dataset)] == ["model", "adapter", "dataset"]
    with pytest.raises(SetupError, match="nothing to push"):
        packed(tmp_path)
