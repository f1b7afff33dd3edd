"""Adapters: mounted from the page, chosen, and named in the request."""

import json

import mlx.core as mx
import pytest

from mlxp_core.loading.sketch import sketch_config, write_sketch

RANK = 2


@pytest.fixture
def adapting(live_pages, tmp_path):
    """A server of a random model with one adapter on disk."""
    config = sketch_config()
    hidden, width = config["hidden_size"], config["num_attention_heads"] * config["head_dim"]
    name = "model.layers.0.self_attn.q_proj"
    tensors = {f"{name}.lora_a": mx.ones((hidden, RANK)), f"{name}.lora_b": mx.ones((RANK, width))}
    folder = tmp_path / "roots" / "polite"
    folder.mkdir(parents=True)
    mx.save_safetensors(str(folder / "adapters.safetensors"), tensors)
    lora = {"rank": RANK, "scale": 2.0, "dropout": 0.0, "keys": ["self_attn.q_proj"]}
    told = {"fine_tune_type": "lora", "num_layers": -1, "lora_parameters": lora}
    (folder / "adapter_config.json").write_text(json.dumps(told))
    model = write_sketch(tmp_path / "sketch")
    with live_pages(model, flags={"adapters": {"roots": [str(tmp_path / "roots")]}}) as served:
        yield served


def test_an_adapter_on_disk_is_mounted_and_used(chat, adapting):
    page = chat(adapting.url)
    options = page.open("Options")
    options.get_by_label("Most tokens").fill("3")
    options.get_by_role("button", name="Mount polite").click()
    assert options.get_by_label("polite", exact=True).is_checked()
    page.ask("Hello!")
    assert page.request()["adapter"] == "polite"
    options = page.open("Options")
    options.get_by_label("polite", exact=True).uncheck()
    page.ask("Hello again!", 2)
    assert "adapter" not in page.request()
    page.page.get_by_role("complementary", name="Inspector").get_by_role("button", name="Close").click()
    page.open("Options").get_by_role("link", name="Compare side by side").click()
    assert page.page.get_by_label("Adapter of B").input_value() == "polite"
