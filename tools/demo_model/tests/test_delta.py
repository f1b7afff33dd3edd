"""The two forms of the delta rule, and the inverse that one of them needs, against their definitions."""

import pytest

torch = pytest.importorskip("torch")
delta = pytest.importorskip("demo_model.delta")


def drawn(rows, width, heads=2, key_dim=8, value_dim=16, seed=0):
    draw = torch.Generator().manual_seed(seed)

    def normal(*sizes):
        return torch.randn(*sizes, generator=draw, dtype=torch.float64)

    q, k = (torch.nn.functional.normalize(normal(rows, width, heads, key_dim), dim=-1) for _ in range(2))
    v, g, b = normal(rows, width, heads, value_dim), normal(rows, width, heads), normal(rows, width, heads)
    return q, k, v, -g.abs(), b.sigmoid()


@pytest.mark.parametrize(("rows", "width"), [(1, 32), (3, 64), (2, 256)])
def test_chunk_by_chunk_is_token_by_token(rows, width):
    parts = drawn(rows, width)
    torch.testing.assert_close(delta.chunk_by_chunk(*parts), delta.token_by_token(*parts))


def test_gradients_are_those_of_token_by_token():
    found = []
    for form in (delta.chunk_by_chunk, delta.token_by_token):
        parts = [part.requires_grad_() for part in drawn(2, 64, seed=1)]
        form(*parts).square().sum().backward()
        found.append([part.grad for part in parts])
    for ours, defined in zip(*found, strict=True):
        torch.testing.assert_close(ours, defined)


def test_the_inverse_is_one():
    a = torch.tril(
        torch.randn(5, 32, 32, generator=torch.Generator().manual_seed(2), dtype=torch.float64), -1
    )
    eye = torch.eye(32, dtype=torch.float64).expand(5, -1, -1)
    torch.testing.assert_close(delta.Inverse.apply(a) @ (eye + a), eye)
