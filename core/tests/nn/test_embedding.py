"""A packed table speaks in the type it was told, and says what the plain one says."""

import mlx.core as mx
import pytest
from mlx import nn

from mlxp_core.nn import TypedEmbedding


@pytest.mark.parametrize(
    ("mode", "bits", "group"), [("affine", 4, 32), ("mxfp4", 4, 32), ("mxfp8", 8, 32), ("nvfp4", 4, 16)]
)
@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16])
def test_what_is_said_is_of_the_type_that_was_chosen(mode, bits, group, dtype):
    table = nn.Embedding(10, 64).to_quantized(group_size=group, bits=bits, mode=mode)
    typed, tokens = TypedEmbedding(table, dtype), mx.array([[3, 9], [0, 3]])
    assert typed(tokens).dtype == dtype
    assert mx.allclose(typed(tokens).astype(mx.float32), table(tokens).astype(mx.float32), atol=1e-2)
    x = mx.random.normal((2, 64))
    assert mx.array_equal(typed.as_linear(x), table.as_linear(x))
    assert typed.parameters().keys() == table.parameters().keys()
