"""A stranger's plugin: a small network that sees. It keeps to what plugins may import.

Everything that the core must get right shows in its answers: positions depend on the images before them, tokens of one
image look ahead at each other (unless config.json says not), and images are dots of colour.
"""

from msgspec import Struct, ValidationError, convert

from mlxp_core import hookimpl
from mlxp_core.contracts import Expansion, ModelFamily, Pixels, VisionTower
from mlxp_core.errors import BadRequest, UnsupportedModel
from mlxp_core.types import Need

PREFIX = "eye."


class SeerConfig(Struct, frozen=True):
    vocab_size: int
    hidden_size: int
    looks_ahead: bool = True


class EyeConfig(Struct, frozen=True):
    hidden_size: int
    side: int


class Top(Struct, frozen=True):
    vocab_size: int
    hidden_size: int
    looks_ahead: bool = True
    vision_config: dict[str, int] | None = None


def read(raw):
    top = check(raw)
    return SeerConfig(top.vocab_size, top.hidden_size, top.looks_ahead)


def read_eyes(raw):
    top = check(raw)
    if top.vision_config is None:
        return None
    try:
        return EyeConfig(top.hidden_size, top.vision_config["side"])
    except KeyError as error:
        raise UnsupportedModel("seer: vision_config has no side") from error


def check(raw):
    try:
        return convert(raw, Top)
    except ValidationError as error:
        raise UnsupportedModel(f"seer: {error}") from error


class Preparer(Struct, frozen=True):
    """Shrinks an image to at most ``side`` by ``side`` dots."""

    side: int
    placeholder: str = "<|reserved_4|>"

    def prepare(self, image, digest):
        if image.width > 500 * image.height:
            raise BadRequest("the image is too wide")
        columns, rows = (min(length, self.side) for length in image.size)
        values = image.resize((columns, rows)).tobytes()
        grid = (1, rows, columns)
        return Pixels(
            values=values, shape=(rows, columns, 3), tokens=rows * columns, grid=grid, digest=digest
        )

    def expand(self, pixels):
        return Expansion("<|reserved_5|>", before="<|reserved_6|>", after="<|reserved_7|>")


def prepare_images(config, settings):
    return Preparer(min(config.side, settings.get("side", config.side)))


def prepare_with_arrays(config, settings):
    import mlx.core  # noqa: F401, PLC0415  # what a preparer must not do

    return prepare_images(config, settings)


def build(config):
    import seer_net  # noqa: PLC0415  # arrays only where a network is built

    return seer_net.Seer(config)


def build_eyes(config):
    import seer_net  # noqa: PLC0415  # arrays only where a network is built

    return seer_net.Eye(config)


def rename(name):
    return None if name.startswith(PREFIX) else name


def rename_eyes(name):
    return name.removeprefix(PREFIX) if name.startswith(PREFIX) else None


def need(config, item_bytes):
    weights = 2 * config.vocab_size * config.hidden_size + 4 * config.hidden_size**2
    return Need(weights=weights * item_bytes, per_token=2 * config.hidden_size * item_bytes)


@hookimpl
def mlxp_model_families():
    return [
        ModelFamily(
            name="seer",
            model_types=("seer",),
            config=read,
            build=build,
            rename=rename,
            need=need,
            vision_tower="seer",
            whole_images=lambda config: config.looks_ahead,
        )
    ]


@hookimpl
def mlxp_vision_towers():
    return [
        VisionTower(
            name="seer",
            config=read_eyes,
            preparer=prepare_images,
            build=build_eyes,
            rename=rename_eyes,
            files=("eyes.safetensors",),
        )
    ]
