"""mlx-lm's trainer, from the same beginning and over the same passes, loses the same and comes to the same numbers."""

import mlx.core as mx
import mlx.optimizers as optim
import pytest
from mlx.utils import tree_flatten, tree_unflatten

from mlxp_core.workshop.parts import mlx_names
from mlxp_lab.adapting.mlx_form import within_block
from mlxp_lab.training import rows
from mlxp_lab.training.curriculum import curriculum
from mlxp_lab.training.examples import Teacher
from mlxp_lab.training.lora import Recipe, attach, blocks, chosen, learned
from mlxp_lab.training.outcome import file_name
from mlxp_lab.training.parameters import TrainParameters

STEPS = 4
CLOSE = 2e-5
"""Of the largest number there is, in float32."""

tuner = pytest.importorskip("mlx_lm.tuner")
utils = pytest.importorskip("mlx_lm.utils")


class Passes:
    """Our passes, as mlx-lm's trainer takes them."""

    def __init__(self, plan, items):
        self._plan, self._items = plan, items

    def __call__(self, **_):
        for step in range(STEPS):
            (batch,) = self._plan.passes(step)
            told = [self._items[unit[0]] for unit in batch]
            width = 1 + 32 * -(-max(len(each.tokens) - 1 for each in told) // 32)
            tokens = [[*each.tokens, *[0] * (width - len(each.tokens))] for each in told]
            spans = [
                (each.learned[0][0], each.learned[0][1] - 1) for each in told
            ]  # the last token, and no padding
            yield mx.array(tokens), mx.array(spans)


class Losses:
    """What their trainer says."""

    def __init__(self):
        self.said = []

    def on_train_loss_report(self, info):
        self.said.append(info["train_loss"])

    def on_val_loss_report(self, info):
        raise AssertionError


@pytest.fixture
def uncompiled():
    """Compiling a whole step for a processor takes longer than the step."""
    mx.disable_compile()
    yield
    mx.enable_compile()


@pytest.mark.parametrize("name", ["minicpm5", "minicpm5-4bit-g32", "qwen35", "qwen35-moe", "gemma4-26b-a4b"])
def test_losses_and_numbers_are_those_of_mlx_lms_trainer(school, opened, tmp_path, name, uncompiled):
    data = school.dataset({"messages": row["messages"][:2]} for row in school.chats(8))
    asked = {
        "steps": STEPS,
        "batch_rows": 2,
        "learning_rate": 1e-2,
        "schedule": "constant",
        "clip": None,
        "valid_share": 0.0,
        "rank": 4,
        "scale": 3.0,
    }
    folder, result, context = school(name, data, **asked)
    assert result.summary["steps"] == STEPS
    theirs = their_run(
        opened(name), TrainParameters(model=name, data=str(data), max_tokens=128, **asked), tmp_path
    )
    assert list(context.told("loss").values()) == pytest.approx(theirs, rel=CLOSE)
    found, expected = (
        mx.load(str(folder / "adapters.safetensors")),
        mx.load(str(tmp_path / "theirs.safetensors")),
    )
    assert found.keys() == expected.keys()
    most = max(mx.abs(array).max().item() for array in expected.values())
    far = max(mx.abs(array - expected[key]).max().item() for key, array in found.items())
    assert far <= 100 * CLOSE * most  # Adam turns the smallest gradients into whole steps


def their_run(model, parameters, folder):
    """Run mlx-lm's trainer, and return its losses."""
    asked = parameters
    ours = model.network("float32").model
    paths = chosen(ours, model.family.lora_targets, None)
    attach(ours, paths, Recipe(rank=asked.rank, scale=asked.scale, dropout=0.0, seed=asked.seed))
    begin = {}
    for name, array in learned(ours).items():
        path, _, half = name.rpartition(".")
        begin[f"{file_name(path, mlx_names(model))}.{half}"] = array
    teacher = Teacher(model, learn=asked.learn, chat_template=True, max_tokens=asked.max_tokens)
    found = rows.read(asked, teacher, lambda *_: None)
    theirs, _ = utils.load_model(model.folder.path)
    theirs.set_dtype(mx.float32)
    theirs.freeze()
    keys = sorted({within_block(name.rpartition(".")[0]) for name in begin})
    recipe = {"rank": asked.rank, "scale": asked.scale, "dropout": 0.0, "keys": keys}
    tuner.linear_to_lora_layers(theirs, blocks(ours), recipe)
    assert dict(tree_flatten(theirs.trainable_parameters())).keys() == begin.keys()
    theirs.update(tree_unflatten(list(begin.items())))
    losses = Losses()
    tuner.train(
        theirs,
        optim.AdamW(asked.rate, weight_decay=asked.weight_decay, bias_correction=True),
        found.train,
        args=tuner.TrainingArgs(
            batch_size=asked.batch_rows,
            iters=STEPS,
            steps_per_report=1,
            adapter_file=str(folder / "theirs.safetensors"),
        ),
        iterate_batches=Passes(curriculum(asked, found), found.train),
        training_callback=losses,
    )
    return losses.said


@pytest.mark.parametrize("name", ["minicpm5", "gemma4-e2b-text", "qwen35", "qwen35-text"])
def test_mlx_lm_loads_what_was_learned_and_computes_the_same(school, logits, theirs, name):
    """And so do we, when it is mounted."""
    folder, _, _ = school(name, school.dataset(school.chats(6)), steps=3, learning_rate=1e-2, layers=2)
    before, ours = logits(school.checkpoint(name)), logits(school.checkpoint(name), folder)
    expected = theirs(school.checkpoint(name), folder)
    assert mx.abs(ours - expected).max() <= CLOSE * mx.abs(expected).max()
    assert mx.abs(ours - before).max() > 100 * CLOSE * mx.abs(expected).max()
