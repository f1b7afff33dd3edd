import mlx.core as mx
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.contracts import ImageSpan
from mlxp_core.kv import BatchCache, PlainPolicy, forward

POLICY = PlainPolicy(mx.float32, slack=4)


class Recorder:
    """A network that only notes what it was given; its hidden states are the positions."""

    def __init__(self):
        self.seen = []

    def __call__(self, inputs, caches):
        self.seen.append((inputs, tuple(caches)))
        return (inputs.at.offset[:, None] + mx.arange(inputs.at.width))[:, :, None]


def write(cache, counts):
    width = max(counts)
    at = cache.begin(counts, width)
    new = mx.ones((cache.rows, 2, width, 4))
    for layer in cache.layers:
        layer.attend(new, new, new, at, scale=1.0)
    cache.commit(at)


def test_a_pass_lengthens_each_row_by_its_own_count():
    cache = BatchCache([], [3, 5])
    network = Recorder()
    hidden = forward(network, cache, mx.zeros((2, 4), dtype=mx.int32), counts=[4, 1])
    assert cache.lengths == [7, 6]
    assert hidden[:, 0, 0].tolist() == [3, 5]
    assert forward(network, cache, mx.zeros((2, 2), dtype=mx.int32)) is not None
    assert cache.lengths == [9, 8]
    assert network.seen[0][0].at.counts == (4, 1)
    assert network.seen[1][0].at.valid is None


def test_embeddings_reach_the_network():
    network, embeddings = Recorder(), mx.ones((1, 2, 8))
    forward(network, BatchCache([]), mx.zeros((1, 2), dtype=mx.int32), embeddings=embeddings, images=((),))
    inputs, _ = network.seen[0]
    assert inputs.embeddings is embeddings
    assert (inputs.images, inputs.past_images) == ((), ())


@given(
    starts=st.lists(st.integers(0, 30), min_size=2, max_size=2),
    width=st.integers(1, 12),
    runs=st.lists(st.lists(st.integers(1, 5), max_size=6), min_size=2, max_size=2),
)
def test_a_pass_is_told_of_images_in_it_and_before_it(starts, width, runs):
    rows = tuple(
        tuple(ImageSpan(sum(run[:at]), count, (1, 1, count)) for at, count in enumerate(run) if at % 2)
        for run in runs
    )
    network = Recorder()
    counts = [width, max(0, width - 3)]
    forward(network, BatchCache([], starts), mx.zeros((2, width), dtype=mx.int32), counts=counts, images=rows)
    inputs, _ = network.seen[0]
    if not any(rows):
        assert (inputs.images, inputs.past_images) == ((), ())
        return
    for row, spans in enumerate(rows):
        read = set(range(starts[row], starts[row] + counts[row]))
        now = [span for span in spans if read & set(range(span.start, span.end))]
        assert list(inputs.images[row]) == now
        assert list(inputs.past_images[row]) == [span for span in spans if span.end <= starts[row]]


def test_one_layer_that_cannot_go_back_keeps_all_from_going_back():
    cache = BatchCache([POLICY.full(0), POLICY.sliding(1, 8)])
    write(cache, [40])
    assert not cache.trim(0, 5)
    assert cache.lengths == [40]
    assert cache.trim(0, 4)
    assert cache.lengths == [36]


def test_trims_add_up_to_what_the_ring_still_holds():
    cache = BatchCache([POLICY.sliding(0, 8)])
    write(cache, [40])
    assert cache.trim(0, 3)
    write(cache, [1])
    assert not cache.trim(0, 3)
    assert cache.trim(0, 2)
    assert cache.lengths == [36]


def test_state_cannot_go_back_but_by_nothing():
    cache = BatchCache([POLICY.state(0, [(2,)], [mx.float32])], [9])
    assert cache.trim(0, 0)
    assert not cache.trim(0, 1)


def test_a_thawed_row_remembers_how_far_it_had_been():
    cache = BatchCache([POLICY.sliding(0, 8)])
    write(cache, [40])
    assert cache.trim(0, 4)
    thawed = BatchCache([POLICY.sliding(0, 8)]).thaw(cache.freeze(0))
    assert thawed.lengths == [36]
    assert not thawed.trim(0, 1)


def test_rows_keep_their_lengths_through_joins_and_keeps():
    cache, other = BatchCache([POLICY.full(0)]), BatchCache([POLICY.full(0)])
    write(cache, [5])
    write(other, [300])
    cache.join(other)
    cache.join(BatchCache([POLICY.full(0)]))
    assert cache.lengths == [5, 300, 0]
    cache.keep([2, 0])
    assert (cache.rows, cache.lengths) == (2, [0, 5])
    write(cache, [1, 1])
    assert cache.lengths == [1, 6]
