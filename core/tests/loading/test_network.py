import json

import mlx.core as mx
import pytest
from mlx.utils import tree_flatten
from msgspec.structs import replace

from mlxp_core.contracts import Inputs
from mlxp_core.errors import ModelFolderError, PluginError
from mlxp_core.kv import BatchCache, forward
from mlxp_core.loading import choose_family, open_folder
from mlxp_core.loading.network import load_network

FILE = "model.safetensors"


def load(path, family, **options):
    opened = open_folder(path)
    chosen, config = choose_family(opened, {family.name: family})
    return load_network(opened, chosen, config, **options)


def tensors(path):
    return dict(mx.load(str(path / FILE)))


def store(path, arrays, **config):
    mx.eval(list(arrays.values()))
    mx.save_safetensors(str(path / FILE), arrays)
    (path / "config.json").write_text(
        json.dumps({**json.loads((path / "config.json").read_text()), **config})
    )


def parameters(network):
    return dict(tree_flatten(network.model.parameters()))


def logits(network):
    tokens = mx.array([[30, 60, 90]])
    hidden = forward(network.model, BatchCache(network.model.make_caches(network.policy)), tokens)
    return network.model.logits(hidden)


def quantized(path, skip=(), **options):
    """The stored tensors, every matrix but those of ``skip`` quantized."""
    out = {}
    for name, array in tensors(path).items():
        stem = name.removesuffix(".weight")
        if array.ndim != 2 or stem.startswith("spare") or stem in skip:
            out[name] = array
            continue
        packed, scales, *biases = mx.quantize(array, **options)
        out |= {name: packed, f"{stem}.scales": scales}
        out |= {f"{stem}.biases": biases[0]} if biases else {}
    return out


def plain(arrays, **options):
    """The numbers that quantized tensors stand for."""
    out = {}
    for name, array in arrays.items():
        stem = name.removesuffix(".weight")
        if f"{stem}.scales" in arrays and name.endswith(".weight"):
            biases = arrays.get(f"{stem}.biases")
            out[name] = mx.dequantize(array, arrays[f"{stem}.scales"], biases, **options).astype(mx.float32)
        elif not name.endswith((".scales", ".biases")):
            out[name] = array
    return out


class TestPlain:
    def test_every_parameter_is_what_was_stored(self, folder, pair):
        network = load(folder, pair)
        stored = tensors(folder)
        for name, value in parameters(network).items():
            assert mx.array_equal(value, stored[f"model.{name}"]), name

    def test_what_the_network_says_of_itself(self, folder, pair):
        network = load(folder, pair)
        assert network.vocabulary == 384
        assert network.weight_bytes == sum(value.nbytes for value in parameters(network).values())
        assert logits(network).shape == (1, 3, 384)
        assert network.used is None
        assert load(folder, pair, used=300).used == 300

    def test_the_policy_stores_what_the_network_computes(self, folder, pair):
        for dtype in ("float32", "float16"):
            network = load(folder, pair, dtype=dtype)
            assert network.policy.full(0).nbytes == 0
            assert network.model.embed(mx.array([[1]])).dtype == getattr(mx, dtype)


class TestDtype:
    @pytest.fixture
    def half(self, folder):
        store(folder, {name: array.astype(mx.bfloat16) for name, array in tensors(folder).items()})
        return folder

    def test_auto_is_float32_on_a_cpu(self, half, pair):
        with mx.stream(mx.cpu):
            network = load(half, pair)
        expected = mx.float32 if mx.default_device().type == mx.DeviceType.cpu else mx.bfloat16
        assert parameters(network)["table.weight"].dtype == expected

    @pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
    def test_a_chosen_type_holds_but_where_the_family_says_float32(self, half, pair, dtype):
        for name, value in parameters(load(half, pair, dtype=dtype)).items():
            assert value.dtype == (mx.float32 if name == "decay" else getattr(mx, dtype)), name


class TestProgress:
    def test_it_ends_with_the_whole(self, folder, pair):
        seen = []
        network = load(folder, pair, progress=lambda done, total: seen.append((done, total)))
        assert seen == sorted(seen)
        assert seen[-1] == (network.weight_bytes, network.weight_bytes)

    def test_it_may_stop_the_loading(self, folder, pair):
        def stop(done, total):
            raise InterruptedError

        with pytest.raises(InterruptedError):
            load(folder, pair, progress=stop)


class TestQuantized:
    @pytest.mark.parametrize(("bits", "group_size"), [(2, 64), (3, 32), (4, 32), (4, 64), (6, 64), (8, 32)])
    def test_affine(self, folder, pair, bits, group_size):
        self.check(folder, pair, bits=bits, group_size=group_size)

    def test_what_the_device_computes_wrongly_is_unpacked(self, folder, pair, monkeypatch):
        packed = quantized(folder, bits=4, group_size=32)
        scales = {name: array.astype(mx.bfloat16) for name, array in packed.items() if name.endswith("s")}
        store(folder, {**packed, **scales})
        expected = plain(
            {**packed, **{name: array.astype(mx.float32) for name, array in scales.items()}},
            bits=4,
            group_size=32,
        )
        monkeypatch.setattr("mlxp_core.loading.network._computed_wrongly", lambda packing, inputs: True)
        found = parameters(load(folder, pair, dtype="float32"))
        assert not [name for name in found if name.endswith("scales")]
        given = {name.removeprefix("model."): value for name, value in expected.items()}
        assert all(mx.array_equal(value, given[name]) for name, value in found.items())

    @pytest.mark.parametrize(
        ("mode", "bits", "group_size"), [("mxfp4", 4, 32), ("mxfp8", 8, 32), ("nvfp4", 4, 16)]
    )
    @pytest.mark.parametrize("told", [True, False])
    def test_without_biases(self, folder, pair, mode, bits, group_size, told):
        section = {"quantization": {"mode": mode}} if told else {}
        options = {"mode": mode, "bits": bits, "group_size": group_size}
        self.check(
            folder, pair, section, atol=2e-2, **options
        )  # MLX's packed tables give bfloat16 in these modes

    def check(self, folder, pair, config=None, *, atol=1e-4, **options):
        """The quantized network computes what the plain one computes on the numbers that the packed ones stand for."""
        packed = quantized(folder, **options)
        store(folder, packed, **(config or {}))
        ours = logits(load(folder, pair, dtype="float32"))
        store(folder, plain(packed, **options))
        assert mx.allclose(ours, logits(load(folder, pair)), atol=atol)

    def test_a_module_without_scales_stays_plain(self, folder, pair):
        section = {"bits": 4, "group_size": 64, "model.layers.1": False}
        store(folder, quantized(folder, skip=("model.layers.1",), group_size=64), quantization=section)
        held = parameters(load(folder, pair))
        assert "layers.0.scales" in held
        assert "layers.1.scales" not in held

    def test_modules_may_differ(self, folder, pair):
        mixed = quantized(folder, bits=4, group_size=64)
        stem = "model.layers.1"
        original = tensors(folder)[f"{stem}.weight"]
        mixed[f"{stem}.weight"], mixed[f"{stem}.scales"], mixed[f"{stem}.biases"] = mx.quantize(
            original, bits=8, group_size=32
        )
        section = {"bits": 4, "group_size": 64, stem: {"bits": 8, "group_size": 32}}
        store(folder, mixed, quantization=section)
        layers = load(folder, pair).model.layers
        assert [(layer.bits, layer.group_size) for layer in layers] == [(4, 64), (8, 32)]

    def test_scales_take_the_type_of_the_weights(self, folder, pair):
        store(folder, {n: a.astype(mx.bfloat16) for n, a in tensors(folder).items()})
        store(folder, quantized(folder, bits=4, group_size=64))
        held = parameters(load(folder, pair, dtype="float32"))
        assert held["head.scales"].dtype == held["head.biases"].dtype == mx.float32
        assert held["head.weight"].dtype == mx.uint32

    def test_the_family_may_name_modes_by_its_own_paths(self, folder, pair):
        section = {"mode": "affine", "head": {"mode": "mxfp4"}, "model.table": {"mode": "mxfp4"}}
        skip = ("model.layers.0", "model.layers.1")
        store(folder, quantized(folder, skip, mode="mxfp4"), quantization=section)
        model = load(folder, pair).model
        assert (model.head.mode, model.table.mode) == ("mxfp4", "mxfp4")

    @pytest.mark.parametrize("columns", [1, 5, 7])
    def test_a_packing_that_is_none(self, folder, pair, columns):
        packed = quantized(folder, bits=4, group_size=64)
        packed["model.head.weight"] = mx.zeros((384, columns), dtype=mx.uint32)
        store(folder, packed)
        with pytest.raises(ModelFolderError, match="head"):
            load(folder, pair)

    def test_scales_beside_plain_numbers(self, folder, pair):
        store(folder, {**tensors(folder), "model.head.scales": mx.zeros((384, 1))})
        with pytest.raises(ModelFolderError, match="head has scales, but no packed weight"):
            load(folder, pair)


class TestMisfits:
    def test_missing_unexpected_and_misshapen_are_counted_and_named(self, folder, pair):
        arrays = tensors(folder)
        for name in ("model.layers.0.weight", "model.layers.0.bias", "model.decay", "model.layers.1.bias"):
            del arrays[name]
        arrays["model.stranger"] = mx.zeros((2,))
        arrays["model.head.weight"] = mx.zeros((384, 32))
        store(folder, arrays)
        with pytest.raises(ModelFolderError) as caught:
            load(folder, pair)
        message = caught.value.message
        assert "4 missing: decay, layers.0.bias, layers.0.weight, …" in message
        assert "1 unexpected: stranger" in message
        assert "1 of another shape: head.weight is [384, 32], should be [384, 64]" in message

    def test_two_tensors_for_one_parameter(self, folder, pair):
        store(folder, {**tensors(folder), "decay": mx.zeros((64,))})
        with pytest.raises(
            ModelFolderError, match=r"'(model\.)?decay' and '(model\.)?decay' are both parameter"
        ):
            load(folder, pair)

    def test_a_conversion_that_misses_its_tensor(self, folder, pair):
        def convert(arrays, config):
            arrays["decay"] = arrays.pop("absent")

        with pytest.raises(ModelFolderError, match="cannot convert"):
            load(folder, replace(pair, convert=convert))

    def test_a_conversion_may_change_what_it_likes(self, folder, pair):
        def convert(arrays, config):
            arrays["decay"] = arrays["decay"] + 1.0

        value = parameters(load(folder, replace(pair, convert=convert)))["decay"]
        assert mx.array_equal(value, tensors(folder)["model.decay"] + 1.0)

    def test_a_family_that_builds_no_network(self, folder, pair):
        with pytest.raises(PluginError, match=r"no mlx\.nn\.Module"):
            load(folder, replace(pair, build=lambda config: object()))


def test_inputs_with_embeddings_need_no_table(folder, pair):
    network = load(folder, pair)
    given = mx.ones((1, 1, 64))
    inputs = Inputs(tokens=mx.array([[0]]), at=None, embeddings=given)
    assert network.model(inputs, []).shape == (1, 1, 64)
