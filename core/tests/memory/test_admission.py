"""Who fits, by arithmetic: worked examples, and laws that hold for any model and any budget."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.errors import ModelTooLarge, OverBudget
from mlxp_core.memory import Account, Admission, Footprint, MemoryPlan, demand, footprint, look_of, verdict
from mlxp_core.memory.fit import decode_speed, predicted_speed, report
from mlxp_core.memory.footprint import Look, Scores, Slots
from mlxp_core.types import Budget, EngineSettings, ImageNeed, KVStorage, LayerNeed, Machine, Need

GIB = 2**30
M4_PRO = Machine(
    backend="metal", chip="M4 Pro", ram_bytes=24 * GIB, usable_bytes=int(0.75 * 24 * GIB), bandwidth_gbs=273.0
)
M1 = Machine(
    backend="metal", chip="M1", ram_bytes=8 * GIB, usable_bytes=int(0.75 * 8 * GIB), bandwidth_gbs=68.0
)
SLIDING = LayerNeed(heads=8, key_dim=256, value_dim=256, window=1024)
FULL = LayerNeed(heads=1, key_dim=512, value_dim=512)
TWELVE_B = Need(weights=1, layers=(SLIDING,) * 40 + (FULL,) * 8, passing=550_000)


def twelve_b(machine=M4_PRO, *, slack=0, **kept):
    return footprint(
        TWELVE_B, machine, weights=8_900_000_000, value_bytes=2, vocabulary=0, slack=slack, **kept
    )


# ── A model of 12 billion parameters, worked by hand ────────────────────────────────────────────────────────────────


def test_what_its_rows_hold():
    assert {kind.most: kind.nbytes for kind in twelve_b().slots} == {1024: 327_680, None: 16_384}
    assert twelve_b().row(8192) == 469_762_048
    assert twelve_b(slack=16).row(8192) == 469_762_048 + 16 * 327_680


def test_windows_fill_up_and_stay():
    counted = twelve_b()
    assert counted.row(2048) - counted.row(1024) == 1024 * 16_384
    assert counted.row(512) == 512 * (16_384 + 327_680)


def test_it_fits_24_gigabytes_with_all_of_its_context():
    told = report(Account(twelve_b(), 131_072), M4_PRO, Budget(M4_PRO.usable_bytes), chunk=512, context=8192)
    assert told.fits
    assert told.max_safe_context == 131_072
    assert told.predicted_decode_tps == pytest.approx(23.89, abs=0.005)
    assert told.total_bytes == told.weights_bytes + told.kv_bytes + told.transient_bytes < told.usable_bytes


def test_it_does_not_fit_8_gigabytes_at_all():
    told = report(Account(twelve_b(M1), 131_072), M1, Budget(M1.usable_bytes), chunk=512, context=8192)
    assert (told.fits, told.max_safe_context) == (False, 0)


def test_the_speed_of_memory_is_the_speed_of_decoding():
    assert decode_speed(273, 8.9e9, 469_762_048, 0.82) == pytest.approx(23.89, abs=0.005)
    assert (
        predicted_speed(twelve_b(), Machine(backend="cpu", chip="x", ram_bytes=1, usable_bytes=1), 1) is None
    )


def test_experts_that_a_token_does_not_visit_cost_no_time():
    need = Need(weights=100, idle=75)
    counted = footprint(need, M4_PRO, weights=8_000_000_000, value_bytes=2, vocabulary=0)
    assert predicted_speed(counted, M4_PRO, 1) == pytest.approx(273e9 / 2e9 * 0.76)


@pytest.mark.parametrize(("bits", "share"), [(8, (8 / 8 + 4 / 64) / 2), (4, (4 / 8 + 4 / 64) / 2)])
def test_quantized_keys_take_their_bits_and_a_scale_and_a_bias_for_each_group(bits, share):
    plain = twelve_b()
    packed = twelve_b(storages={0: KVStorage(bits, 64)})  # every layer here goes by the number 0
    assert packed.row(8192) == pytest.approx(share * plain.row(8192))


def test_packed_keys_are_unpacked_for_a_prompt_and_in_steps_only_where_many_queries_share_one():
    layers = (
        LayerNeed(number=0, heads=2, key_dim=64, value_dim=64, queries=8),
        LayerNeed(number=1, heads=2, key_dim=64, value_dim=64, queries=64, window=100),
        LayerNeed(number=2, heads=8, key_dim=64, value_dim=64, queries=8),
    )

    def counted(*packed, direct=8):
        storages = dict.fromkeys(packed, KVStorage(8, 64))
        need = Need(layers=layers)
        return footprint(
            need, M1, weights=0, value_bytes=2, vocabulary=0, storages=storages, direct=direct, slack=0
        )

    plain, both, all_of_them = counted(), counted(0, 1), counted(0, 1, 2)
    slot = 2 * (64 + 64) * 2  # bytes of a slot of the first two layers
    assert both.chunk(10, 512) - plain.chunk(10, 512) == slot * 512
    assert all_of_them.chunk(10, 512) - plain.chunk(10, 512) == 4 * slot * 512
    assert both.step(3, 512) - plain.step(3, 512) == 3 * slot * 100  # of the window, where 32 share a key
    assert counted(0).step(3, 512) == plain.step(3, 512)
    assert counted(0, direct=0).step(3, 512) - plain.step(3, 512) == 3 * slot * 512


def test_adapters_are_held_and_several_are_held_joined_too():
    counted = Footprint(weights=100, eyes=10, value_bytes=2)
    assert counted.adapted(()).held == 110
    assert counted.adapted((30,)).held == 110 + 60
    assert counted.adapted((30,)).adapted((30, 5)).held == 110 + 2 * 70


def test_adapters_take_the_room_of_rows():
    account = Account(Footprint(weights=1000, slots=(Slots(1, None),), value_bytes=4), 10**6)
    admission = Admission({"m": account}, 5000, chunk=8)
    laden = admission.beside({"m"}, {"m"}, {"m": (500,)})
    assert laden.held == admission.held + 2000
    assert laden.spare("m", [100]) == admission.spare("m", [100]) - 2000
    assert laden.longest("m") < admission.longest("m")
    assert laden.beside({"m"}, {"m"}).held == laden.held, "as they were"
    assert laden.beside({"m"}, {"m"}, {}).held == admission.held
    full = admission.beside({"m"}, {"m"}, {"m": (10**6,)})
    assert full.longest("m") == 0


def test_layers_with_state_grow_with_rows_and_not_with_tokens():
    need = Need(layers=(LayerNeed(state=1000), LayerNeed(heads=1, key_dim=2, value_dim=2)), fixed=7)
    counted = footprint(need, M1, weights=0, value_bytes=2, vocabulary=0)
    assert counted.row(1) - 256 * 8 == counted.row(512) - 512 * 8 == 1007


def test_scores_are_built_only_where_nothing_fuses_them():
    cpu = Machine(backend="cpu", chip="x", ram_bytes=1, usable_bytes=1)
    cuda = Machine(backend="cuda", chip="x", ram_bytes=1, usable_bytes=1)
    wide, usual = (Need(layers=(LayerNeed(heads=1, key_dim=d, value_dim=d, queries=8),)) for d in (512, 128))

    def built(need, machine, value_bytes=2):
        return footprint(need, machine, weights=0, value_bytes=value_bytes, vocabulary=0).scores

    assert built(usual, cpu, 4) == (Scores(32, None),)
    assert built(usual, M1) == built(usual, cuda) == ()
    assert built(usual, cuda, 4) != ()
    assert built(wide, M1) == built(wide, cuda) == (Scores(16, None),)


def test_images_take_what_their_patches_do_and_the_pairs_of_them_only_where_nothing_fuses_them():
    need = ImageNeed(passing=1000, patches=4, heads=2, dim=64, scores=10**6)
    assert look_of(need, M1, 2) == Look(2000, 0, 2 * 10**6)
    seeing = Footprint(
        weights=0, look=look_of(need, Machine(backend="cpu", chip="x", ram_bytes=1, usable_bytes=1), 4)
    )
    assert seeing.looking(10) == 10 * 4000 + 10**2 * 2 * 4**2 * 4
    assert seeing.looking(1000) == 1000 * 4000 + 4 * 10**6
    assert Footprint(weights=0).looking(1000) == 0


def test_an_image_that_does_not_fit_is_told_so():
    account = Account(Footprint(weights=0, slots=(Slots(1000, None),), look=Look(10**6, 0, None)), 100_000)
    here = Admission({"m": account}, 10**9, chunk=512)
    here.check("m", 300, 100, image=200)
    assert here.answer("m", 300, 10**5, asked=False) > here.answer("m", 300, 10**5, asked=False, image=900)
    with pytest.raises(OverBudget, match=r"image of 1100 tokens .* smaller") as refused:
        here.check("m", 1200, 100, image=1100)
    assert refused.value.param == "messages"


def test_what_the_admission_refuses_is_told_with_numbers_and_a_way_out():
    account = Account(Footprint(weights=10**9, slots=(Slots(10**6, None),), largest=0), 100_000)
    here = Admission({"m": account}, 3 * 10**9, chunk=512)
    longest = here.longest("m")
    assert 1000 < longest < 2048
    here.check("m", 100, longest - 100)
    with pytest.raises(OverBudget, match=f"ask for at most {longest - 100}") as refused:
        here.check("m", 100, longest)
    assert (refused.value.code, refused.value.param) == ("context_over_budget", "max_tokens")
    assert "3.0 GB" in refused.value.message
    with pytest.raises(OverBudget, match="shorten the prompt") as refused:
        here.check("m", 5000, 1)
    assert refused.value.param == "prompt"


def test_an_answer_of_unsaid_length_is_cut_to_what_fits():
    account = Account(Footprint(weights=0, slots=(Slots(10**6, None),)), 100_000)
    here = Admission({"m": account}, 2 * 10**9, chunk=512)
    longest = here.longest("m")
    assert here.answer("m", 100, 1024, asked=False) == 1024
    assert here.answer("m", longest - 50, 1024, asked=False) == 50
    with pytest.raises(OverBudget):
        here.answer("m", longest - 50, 1024, asked=True)
    with pytest.raises(OverBudget):
        here.answer("m", longest, 1024, asked=False)


def test_a_model_that_leaves_no_room_is_refused_before_it_is_loaded():
    with pytest.raises(ModelTooLarge, match=r"8\.9 GB.*6\.4 GB.*memory_budget"):
        MemoryPlan({"m": lambda machine: Account(twelve_b(machine), 4096)}, M1, EngineSettings())


def test_the_settings_budget_counts_for_more_than_the_machine():
    models = {"m": lambda machine: Account(twelve_b(machine), 4096)}
    plan = MemoryPlan(models, M1, EngineSettings(memory_budget="20GB"))
    assert (plan.total, plan.fit("m").report.usable_bytes) == (20 * 10**9, 20 * 10**9)


def test_models_share_one_budget():
    small = Account(Footprint(weights=10**9, slots=(Slots(1000, None),)), 4096)
    both = Admission({"a": small, "b": small}, 4 * 10**9, chunk=512)
    assert both.held == 2 * 10**9
    assert both.budget("a").room == 3 * 10**9
    assert both.longest("a") == Admission({"a": small}, 3 * 10**9, chunk=512).longest("a")


# ── Laws ────────────────────────────────────────────────────────────────────────────────────────────────────────────

FOOTPRINTS = st.builds(
    Footprint,
    weights=st.integers(0, 10**10),
    eyes=st.integers(0, 10**9),
    slots=st.lists(st.builds(Slots, st.integers(1, 10**6), st.none() | st.integers(1, 8192)), max_size=3).map(
        tuple
    ),
    largest=st.integers(0, 10**5),
    fixed=st.integers(0, 10**7),
    state=st.integers(0, 10**6),
    passing=st.integers(0, 10**6),
    transient=st.integers(0, 10**8),
    scores=st.lists(st.builds(Scores, st.integers(1, 256), st.none() | st.integers(1, 4096)), max_size=2).map(
        tuple
    ),
    vocabulary=st.integers(0, 300_000),
    look=st.none()
    | st.builds(Look, st.integers(0, 10**6), st.integers(0, 10**4), st.none() | st.integers(0, 10**9)),
)
TOKENS = st.integers(1, 200_000)
BUDGETS = st.integers(1, 10**12)


@given(FOOTPRINTS, BUDGETS, TOKENS, st.integers(1, 16), st.integers(1, 4096))
def test_the_most_that_fits_does_and_one_more_does_not(counted, total, context, rows, chunk):
    found = verdict(counted, Budget(total), context, chunk=chunk, context=context, rows=rows)
    most = found.max_tokens

    def taken(tokens):
        return counted.held + demand(counted, rows, tokens, chunk=chunk)

    assert 0 <= most <= context
    assert most == 0 or taken(most) <= total
    assert most == context or taken(most + 1) > total
    assert found.fits == (most == context)
    assert bool(found.reason) != found.fits


@given(FOOTPRINTS, st.lists(TOKENS, min_size=1, max_size=12), st.integers(1, 4096))
def test_more_rows_and_longer_rows_never_take_less(counted, rows, chunk):
    taken = demand(counted, len(rows), max(rows), chunk=chunk)
    assert taken <= demand(counted, len(rows) + 1, max(rows), chunk=chunk)
    assert taken <= demand(counted, len(rows), max(rows) + 1, chunk=chunk)
    assert taken <= demand(counted, len(rows), max(rows), chunk=chunk, prefixes=(100,))
    assert taken <= demand(counted, len(rows), max(rows), chunk=chunk, image=100)
    assert taken >= sum(counted.row(tokens) for tokens in rows)


@given(FOOTPRINTS, BUDGETS, st.lists(TOKENS, max_size=8), TOKENS, st.integers(1, 4096))
def test_whoever_is_admitted_leaves_nobody_without(counted, total, rows, one, chunk):
    try:
        here = Admission({"m": Account(counted, 200_000)}, total, chunk=chunk)
    except ModelTooLarge:
        return
    if here.spare("m", [*rows, one]) >= 0:
        assert here.held + here.demand("m", [*rows, one]) <= total
        assert here.spare("m", [*rows, one]) <= here.spare("m", rows)
    assert here.spare("m", [here.longest("m")]) >= 0


@given(FOOTPRINTS, BUDGETS, TOKENS, TOKENS, st.integers(1, 4), st.integers(0, 2000))
def test_what_passes_the_check_fits_alone(counted, total, prompt, answer, choices, image):
    try:
        here = Admission({"m": Account(counted, 400_000)}, total, chunk=512)
        here.check("m", prompt, answer, choices=choices, image=image)
    except (ModelTooLarge, OverBudget):
        return
    prefixes = (prompt,) if choices > 1 else ()
    assert here.spare("m", [prompt + answer], prefixes, image) >= 0
