"""The torch network is Qwen 3.5 as transformers has it."""

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
network = pytest.importorskip("demo_model.network")

from demo_model.shape import Shape  # noqa: E402  # after what may skip

SMALL = Shape(vocabulary=256, hidden=64, layers=4, feedforward=96, heads=2, kv_heads=1, head_dim=32, key_heads=1, value_heads=2, key_dim=16, value_dim=32)  # fmt: skip
WIDTH = 64


def theirs(shape, weights):
    """Return the network of transformers with these weights."""
    config = transformers.Qwen3_5TextConfig(**shape.config())
    model = transformers.Qwen3_5ForCausalLM(config).eval()
    found = model.load_state_dict(weights, strict=False)
    assert found.unexpected_keys == []
    assert found.missing_keys in ([], ["lm_head.weight"])  # the head is the table of the embedding
    return model


@pytest.fixture(scope="module")
def weights():
    made = network.initial(SMALL, 3)
    noise = torch.Generator().manual_seed(4)
    return {name: value + 0.05 * torch.randn(value.shape, generator=noise) for name, value in made.items()}


def test_logits_are_those_of_transformers(weights):
    tokens = torch.randint(0, SMALL.vocabulary, (3, WIDTH), generator=torch.Generator().manual_seed(5))
    with torch.no_grad():
        ours = network.Network(SMALL, weights).logits(tokens)
        expected = theirs(SMALL, weights)(tokens).logits
    torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-4)


def test_the_loss_is_the_mean_of_what_was_surprising(weights):
    tokens = torch.randint(0, SMALL.vocabulary, (2, WIDTH + 1), generator=torch.Generator().manual_seed(6))
    weight = torch.ones(2, WIDTH)
    with torch.no_grad():
        own = network.Network(SMALL, weights)
        total = own.loss(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous(), weight, torch.float32)
        scores = own.logits(tokens[:, :-1]).log_softmax(-1)
        picked = scores.gather(-1, tokens[:, 1:, None])
    torch.testing.assert_close(total, -picked.sum())
