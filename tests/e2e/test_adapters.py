"""Adapters on real checkpoints: what they add is what merged weights say, by every name, in company, over HTTP."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import httpx
import mlx.core as mx
import openai
import pytest

from mlxp_core.adapters import open_adapter
from mlxp_core.adapters.mounts import Mounts
from mlxp_core.kv import BatchCache, PlainPolicy, forward
from mlxp_core.loading import choose_family, open_folder
from mlxp_core.loading.network import load_network
from mlxp_core.plugins import build_registry, load_plugins, load_settings
from mlxp_core.types import PluginSettings

FAMILIES = {
    "gemma4-e2b": "model.language_model.",
    "gemma4-e2b-text": "model.",
    "gemma4-12b-unified": "model.language_model.",
    "gemma4-26b-a4b": "model.language_model.",
    "minicpm5": "model.",
    "qwen35": "model.language_model.",
    "qwen35-moe": "model.language_model.",
    "qwen35-text": "model.",
}
"""Tiny checkpoint -> how the names of its text network begin."""

RANK, SCALE = 4, 2.0
TEXT = [11, 7, 23, 5, 40, 31, 8, 19]


@pytest.fixture(scope="module")
def families():
    """The families that are installed."""
    plugins = load_plugins(PluginSettings())
    return build_registry(plugins, load_settings(None, {}, {}, plugins.sections)).families


def tensors_of(folder):
    return {
        name: value
        for file in sorted(folder.glob("*.safetensors"))
        for name, value in mx.load(str(file)).items()
    }


def targets(tensors, family):
    """Return the linear layers of a checkpoint that adapters may be for, as it calls them, in order."""
    return sorted(
        name.removesuffix(".weight")
        for name, value in tensors.items()
        if name.endswith(".weight")
        and value.ndim == 2
        and name.removesuffix(".weight").rpartition(".")[2] in family.lora_targets
        and family.rename(name) is not None
    )


def halves(tensors, modules, seed):
    """Return module -> A ``[inputs, rank]`` and B ``[rank, outputs]``."""
    made = {}
    for number, module in enumerate(modules):
        outputs, inputs = tensors[f"{module}.weight"].shape
        keys = mx.random.split(mx.random.key(seed * 1000 + number))
        a = mx.random.normal((inputs, RANK), key=keys[0]) * inputs**-0.5
        made[module] = (a, mx.random.normal((RANK, outputs), key=keys[1]) * 0.2)
    return made


def write(folder, tensors, config, weights):
    folder.mkdir()
    mx.save_safetensors(
        str(folder / weights), {name: mx.contiguous(value) for name, value in tensors.items()}
    )
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return folder


def write_peft(folder, made):
    tensors = {f"base_model.model.{module}.lora_A.weight": a.T for module, (a, _) in made.items()}
    tensors |= {f"base_model.model.{module}.lora_B.weight": b.T for module, (_, b) in made.items()}
    config = {"peft_type": "LORA", "r": RANK, "lora_alpha": SCALE * RANK, "bias": "none"}
    return write(folder, tensors, config, "adapter_model.safetensors")


def write_mlx(folder, made):
    tensors = {f"{module}.lora_a": a for module, (a, _) in made.items()}
    tensors |= {f"{module}.lora_b": b for module, (_, b) in made.items()}
    keys = sorted({".".join(module.split(".layers.")[1].split(".")[1:]) for module in made})
    parameters = {"rank": RANK, "scale": SCALE, "dropout": 0.0, "keys": keys}
    config = {"fine_tune_type": "lora", "num_layers": -1, "lora_parameters": parameters}
    return write(folder, tensors, config, "adapters.safetensors")


def write_merged(folder, base, made):
    """Write a copy of a checkpoint, in float32, with the terms in its weights."""
    tensors = {name: value.astype(mx.float32) for name, value in tensors_of(base).items()}
    for module, (a, b) in made.items():
        tensors[f"{module}.weight"] = tensors[f"{module}.weight"] + SCALE * (a @ b).T
    shutil.copytree(base, folder, ignore=shutil.ignore_patterns("*.safetensors", "*.index.json"))
    mx.save_safetensors(str(folder / "model.safetensors"), tensors)
    return folder


def load(folder, families):
    opened = open_folder(folder)
    family, config = choose_family(opened, families)
    return load_network(opened, family, config, dtype="float32").model, family


def logits(network):
    cache = BatchCache(network.make_caches(PlainPolicy(mx.float32)))
    hidden = forward(network, cache, mx.array([TEXT], dtype=mx.int32))
    return network.logits(hidden[:, -1]).astype(mx.float32)


def assert_close(found, expected):
    assert mx.abs(found - expected).max() <= 1e-4 * mx.abs(expected).max()


@pytest.mark.parametrize("name", FAMILIES)
def test_terms_for_every_target_by_every_name_say_what_merged_weights_say(
    tiny_checkpoints, families, tmp_path, name
):
    network, family = load(tiny_checkpoints / name, families)
    tensors = tensors_of(tiny_checkpoints / name)
    made = halves(tensors, targets(tensors, family), seed=1)
    merged, _ = load(write_merged(tmp_path / "merged", tiny_checkpoints / name, made), families)
    expected, plain = logits(merged), logits(network)
    assert not mx.allclose(expected, plain, atol=1e-2)
    mounts = Mounts(network)
    spelt = {"published": made}
    for spelling in ("language_model.model.", "model."):
        spelt[spelling] = {module.replace(FAMILIES[name], spelling, 1): ab for module, ab in made.items()}
    for number, (spelling, terms) in enumerate(spelt.items()):
        written = (write_peft, write_mlx)[number % 2](tmp_path / f"{number}", terms)
        fitted = mounts.mount(spelling, open_adapter(written), family)
        assert fitted.modules + len(fitted.unused) == len(made)
        with mounts.rows([(spelling,)]):
            assert_close(logits(network), expected)
    assert mx.array_equal(logits(network), plain)


def test_layers_that_share_keys_are_trained_in_vain(tiny_checkpoints, families, tmp_path):
    folder = tiny_checkpoints / "gemma4-e2b"
    network, family = load(folder, families)
    tensors = tensors_of(folder)
    fitted = Mounts(network).mount(
        "a", open_adapter(write_peft(tmp_path / "a", halves(tensors, targets(tensors, family), 1))), family
    )
    assert {module.rpartition(".")[2] for module in fitted.unused} == {"k_proj", "v_proj"}


def test_mlx_lm_says_the_same_of_its_own_format(tiny, families, tmp_path):
    mlx_lm = pytest.importorskip("mlx_lm", reason="mlx-lm is the oracle")
    network, family = load(tiny, families)
    tensors = tensors_of(tiny)
    written = write_mlx(tmp_path / "a", halves(tensors, targets(tensors, family), seed=1))
    theirs, _ = mlx_lm.load(str(tiny), adapter_path=str(written))
    theirs.set_dtype(mx.float32)
    expected = theirs(mx.array([TEXT]))[:, -1]
    mounts = Mounts(network)
    mounts.mount("a", open_adapter(written), family)
    with mounts.rows([("a",)]):
        assert_close(logits(network), expected)


# ── Over HTTP ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def tuned(model, families, tmp_path_factory):
    """The folders of two adapters for the model, and of the model with the first one in its weights."""
    root = tmp_path_factory.mktemp("tuned")
    family, _ = choose_family(open_folder(model), families)
    tensors = tensors_of(model)
    modules = targets(tensors, family)
    first, second = (halves(tensors, modules, seed) for seed in (1, 2))
    (root / "adapters").mkdir()
    write_mlx(root / "adapters" / "fr", first)
    write_peft(root / "adapters" / "py", second)
    write_merged(root / model.name, model, first)
    return root


@pytest.fixture(scope="module")
def adapted(live, model, tuned):
    """A server with both adapters mounted at start."""
    roots = tuned / "adapters"
    flags = {"adapters": {"mount": (f"fr={roots / 'fr'}", f"py={roots / 'py'}"), "roots": (str(roots),)}}
    with live(model, flags=flags) as served:
        yield served


def ask(client, adapter, text="Tell me", length=24, **more):
    body = {} if adapter is None else {"adapter": adapter}
    return client.completions.create(
        model="any", prompt=text, max_tokens=length, temperature=0, extra_body=body, **more
    )


def said(client, adapter, text="Tell me", length=24):
    return ask(client, adapter, text, length).choices[0].text


def test_a_request_that_names_an_adapter_hears_what_merged_weights_say(adapted, live, tuned, model, official):
    with live(tuned / model.name) as merged:
        expected = said(official(merged.url), None)
    client = official(adapted.url)
    assert said(client, "fr") == expected
    assert said(client, None) == said(client, "none") != expected


def test_eight_at_once_with_four_sets_hear_what_each_hears_alone(adapted, official):
    client = official(adapted.url)
    asked = [(adapter, f"{number} says") for number in range(2) for adapter in ("none", "fr", "py", "fr+py")]
    alone = [said(client, *each) for each in asked]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda each: said(client, *each), asked))
    assert together == alone
    assert len(set(alone[:4])) == 4


def test_a_prompt_that_one_adapter_has_read_is_not_known_to_another(adapted, official):
    client = official(adapted.url)
    text = "The same long beginning for everybody. " * 8
    first = said(client, "py", text)
    assert said(client, "fr", text) == said(client, "fr", text)
    assert said(client, "py", text) == first


def test_a_restart_knows_what_an_adapter_has_read_and_nothing_of_a_changed_one(
    live, model, tuned, tmp_path, official
):
    folder = tmp_path / "fr"
    shutil.copytree(tuned / "adapters" / "fr", folder)
    flags = {"adapters": {"mount": (f"fr={folder}",)}, "engine": {"prompt_cache_dir": str(tmp_path / "kept")}}
    text = "The same long beginning, before and behind a restart. " * 8

    def first_answer():
        with live(model, flags=flags) as served:
            answer = ask(official(served.url), "fr", text)
        return answer.choices[0].text, answer.usage.prompt_tokens_details.cached_tokens

    expected, cold = first_answer()
    assert cold == 0
    again, warm = first_answer()
    assert again == expected
    assert warm > 100
    shutil.copyfile(tuned / "adapters" / "py" / "adapter_model.safetensors", folder / "adapters.safetensors")
    (folder / "adapter_config.json").write_bytes(
        (tuned / "adapters" / "py" / "adapter_config.json").read_bytes()
    )
    other, unknown = first_answer()
    assert (unknown, other != expected) == (0, True)


def test_adapters_come_and_go_while_an_answer_is_written(adapted, official, tuned):
    client = official(adapted.url)
    expected = said(client, "py", length=60)
    stream = ask(client, "py", length=60, stream=True)
    heard = next(stream).choices[0].text
    assert httpx.delete(f"{adapted.url}/v1/adapters/py").json()["id"] == "py"
    with pytest.raises(openai.BadRequestError, match="unknown adapter 'py'; mounted: fr"):
        said(client, "py")
    body = {"id": "new", "path": "py"}
    assert httpx.post(f"{adapted.url}/v1/adapters", json=body, timeout=60).status_code == 200
    heard += "".join(choice.text for chunk in stream for choice in chunk.choices)
    assert heard == expected
    assert said(client, "new", length=60) == expected
    httpx.delete(f"{adapted.url}/v1/adapters/new")
    assert (
        httpx.post(f"{adapted.url}/v1/adapters", json={"id": "py", "path": "py"}, timeout=60).status_code
        == 200
    )


def test_one_for_another_model_is_refused_over_http(adapted, tuned):
    wrong = tuned / "adapters" / "wrong"
    module = "model.layers.0.self_attn.q_proj"
    write_mlx(wrong, {module: (mx.zeros((6, 2)), mx.zeros((2, 6)))})
    refused = httpx.post(f"{adapted.url}/v1/adapters", json={"id": "w", "path": str(wrong)}, timeout=60)
    assert refused.status_code == 400
    assert f"{module}: A [6, 2] and B [2, 6] go from 6 to 6 numbers" in refused.json()["error"]["message"]


def test_the_command_line_mounts_adapters_and_makes_them_usual(tuned, model, process, official, adapted):
    fr = tuned / "adapters" / "fr"
    started = process(model, "--adapter", f"fr={fr}", "--default-adapter", "fr")
    client = official(started.url)
    assert said(client, None) == said(official(adapted.url), "fr")
    assert said(client, "none") == said(official(adapted.url), "none")
