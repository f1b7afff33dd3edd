import mlx.core as mx

from mlxp_core.nn import merge_heads, split_heads


def test_heads_split_and_merge_back():
    x = mx.arange(2 * 3 * 8).reshape(2, 3, 8)
    heads = split_heads(x, 4)
    assert heads.shape == (2, 4, 3, 2)
    assert heads[1, 2, 0].tolist() == x[1, 0, 4:6].tolist()
    assert mx.array_equal(merge_heads(heads), x)
