from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.engine.line import WaitingLine


def people(models):
    return [
        SimpleNamespace(number=n, order=SimpleNamespace(model=m), ended=False) for n, m in enumerate(models)
    ]


def serve(line, rows):
    """Let everybody through; each holds one of ``rows`` rows until the batch has run empty or rows are short."""
    served, batch = [], []
    while len(line) or batch:
        called = line.call(batch[0].order.model if batch else None) if len(batch) < rows else None
        if called is None:
            batch.pop(0)
        else:
            batch.append(called)
            served.append(called)
            assert len({one.order.model for one in batch}) == 1
    return served


@given(st.text("abc", max_size=40), st.integers(1, 4), st.integers(0, 5))
def test_everybody_is_served_and_nobody_overtaken_by_more_than_patience(models, rows, patience):
    line = WaitingLine(patience)
    everybody = people(models)
    for one in everybody:
        line.join(one)
    served = serve(line, rows)
    assert sorted(one.number for one in served) == list(range(len(models)))
    head = 0
    passed = 0
    gone = set()
    for one in served:
        gone.add(one.number)
        if one.number == head:
            passed = 0
            while head in gone:
                head += 1
        else:
            passed += 1
            assert passed <= patience + rows


@given(st.text("abc", max_size=40), st.integers(1, 4), st.integers(0, 5))
def test_within_a_model_it_is_first_come_first_served(models, rows, patience):
    line = WaitingLine(patience)
    for one in people(models):
        line.join(one)
    served = serve(line, rows)
    for model in "abc":
        numbers = [one.number for one in served if one.order.model == model]
        assert numbers == sorted(numbers)


def test_whoever_leaves_is_not_called():
    line = WaitingLine(2)
    first, second, third = people("aaa")
    for one in (first, second, third):
        line.join(one)
    line.leave(second)
    assert [line.call(None), line.call("a"), line.call("a")] == [first, third, None]


def test_clearing_sends_everybody_away():
    line = WaitingLine(2)
    everybody = people("ab")
    for one in everybody:
        line.join(one)
    assert line.clear() == everybody
    assert len(line) == 0


@given(
    st.lists(st.integers(1, 8), min_size=1, max_size=40),
    st.integers(1, 4),
    st.integers(0, 5),
    st.integers(8, 20),
)
def test_who_needs_more_room_waits_and_is_passed_by_no_more_than_patience(sizes, rows, patience, room):
    line, batch, served = WaitingLine(patience), [], []
    everybody = people("a" * len(sizes))
    for one, size in zip(everybody, sizes, strict=True):
        one.size = size
        line.join(one)
    while len(line) or batch:
        free = room - sum(one.size for one in batch)
        called = None
        if len(batch) < rows:
            called = line.call("a" if batch else None, lambda one, free=free: one.size <= free)
        if called is None:
            batch.pop(0)
            continue
        batch.append(called)
        served.append(called.number)
        assert sum(one.size for one in batch) <= room
    assert sorted(served) == list(range(len(sizes)))
    for number in range(len(sizes)):
        before = served[: served.index(number)]
        passed = sum(other > number for other in before)
        assert passed <= patience * (1 + sum(other < number for other in before))
