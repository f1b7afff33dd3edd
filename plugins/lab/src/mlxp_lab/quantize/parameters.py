"""What a quantization takes, and what is wrong with it before anything is computed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from mlxp_core.errors import MlxpError, UnknownModel
from mlxp_core.types import Appraisal
from mlxp_lab.jobs import BadParameters, Site
from mlxp_lab.outputs import output_place
from mlxp_lab.quantize.choice import AFFINE_BITS, AFFINE_GROUPS, FIXED, Choice, Mode

Count = Annotated[int, Meta(ge=1)]


class QuantizeParameters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A quantization.

    Attributes:
        model: a folder, or a name that a plugin knows.
        output: a folder, or a name among the lab's models; absent = after the model and its bits.
        replace: whether a folder that is there may be replaced.
        bits: of each module; with a target, of what is not measured.
        group_size: numbers that share a scale; modules whose inputs it does not divide get a smaller one.
        mode: the arithmetic; all but ``affine`` have bits and groups of their own.
        target_bpw: mean bits of a number, scales included: modules get different bits, by what they hurt. Absent = all
            modules alike.
        candidate_bits: widths to choose from with a target.
        kv_target: mean bits of keys and values, 4 to 8: a kv_config.json is written. Absent = none is made.
        reference: what hurts is measured against: the model as it is, or, where that is too large, with 8 bits.
        calibration: a file of texts to measure with; absent = the lab's own.
        held_out: a file of texts for the report, which must be others; absent = the lab's own.
        rows: of tokens, to measure with.
        row_tokens: of each row.
        shard_bytes: most bytes of one weight file.
        report: whether to say what was lost; takes a second look at the model.
    """

    model: str
    output: str | None = None
    replace: bool = False
    bits: Literal[2, 3, 4, 5, 6, 8] = 4
    group_size: Literal[16, 32, 64, 128] = 64
    mode: Mode = "affine"
    target_bpw: Annotated[float, Meta(gt=0, le=16)] | None = None
    candidate_bits: tuple[Literal[2, 3, 4, 5, 6, 8], ...] = (3, 4, 5, 6, 8)
    kv_target: Annotated[float, Meta(ge=4, le=8)] | None = None
    reference: Literal["source", "8bit"] = "source"
    calibration: str | None = None
    held_out: str | None = None
    rows: Count = 8
    row_tokens: Annotated[int, Meta(ge=16)] = 256
    shard_bytes: Annotated[int, Meta(ge=1000)] = 5 * 10**9
    report: bool = True

    @property
    def choice(self) -> Choice:
        """Return what all modules get that have nothing else."""
        return Choice(self.bits, self.group_size, self.mode)

    @property
    def candidates(self) -> tuple[Choice, ...]:
        """Return what a module may get with a target, fewest bits first."""
        return tuple(Choice(bits, self.group_size) for bits in sorted(set(self.candidate_bits)))

    @property
    def measures(self) -> bool:
        """Say whether anything is measured before it is packed."""
        return self.target_bpw is not None or self.kv_target is not None


def prepare(parameters: QuantizeParameters, site: Site) -> QuantizeParameters:
    """Check, and fill in the folders.

    Raises:
        BadParameters: says which parameter, and what to do.
    """
    told, source = appraised(parameters.model, site)
    parameters = _with_fixed_widths(parameters)
    _check_widths(parameters)
    for name in ("calibration", "held_out"):
        file = getattr(parameters, name)
        if file is not None and not _is_file(file):
            raise BadParameters(f"{name}: there is no file {file}", param=name)
    name = _usual_name(parameters, told) if parameters.output is None else parameters.output
    place = output_place(name, site.made_models, site, replace=parameters.replace, reads=(source,))
    return replace(parameters, model=str(source), output=str(place))


def appraised(ref: str, site: Site) -> tuple[Appraisal, Path]:
    """Return what can be said of a model, and its folder.

    Raises:
        BadParameters: there is no such model, or nobody claims it.
    """
    try:
        path = site.models.find(ref)
    except UnknownModel as error:
        raise BadParameters(error.message, param="model") from error
    except MlxpError as error:
        raise BadParameters(f"model: {error.message}", param="model") from error
    told = site.models.appraise(path)
    if told.fault is not None:
        raise BadParameters(told.fault, param="model")
    return told, path


def _with_fixed_widths(parameters: QuantizeParameters) -> QuantizeParameters:
    if parameters.mode == "affine":
        return parameters
    bits, group = FIXED[parameters.mode]
    return replace(parameters, bits=bits, group_size=group)


def _check_widths(parameters: QuantizeParameters) -> None:
    if parameters.mode == "affine" and parameters.group_size not in AFFINE_GROUPS:
        raise BadParameters(
            f"affine has groups of {', '.join(map(str, AFFINE_GROUPS))}, not {parameters.group_size}",
            param="group_size",
        )
    if parameters.target_bpw is None:
        return
    if parameters.mode != "affine":
        raise BadParameters("a target needs mode affine, which has several widths", param="target_bpw")
    if len(parameters.candidates) < 2:  # noqa: PLR2004  # nothing to choose from
        raise BadParameters(
            f"a target needs two widths to choose from at least, of {AFFINE_BITS}", param="candidate_bits"
        )
    least, most = parameters.candidates[0].bits_per_weight, parameters.candidates[-1].bits_per_weight
    if not least <= parameters.target_bpw <= most:
        raise BadParameters(
            f"with these widths and groups, the target can be {least:g} to {most:g} bits, not "
            f"{parameters.target_bpw:g}",
            param="target_bpw",
        )


def _usual_name(parameters: QuantizeParameters, told: Appraisal) -> str:
    label = parameters.choice.label
    if parameters.target_bpw is not None:
        label = f"mixed-{parameters.target_bpw:g}bpw"
    return f"{told.name.rpartition('/')[2]}-{label}"


def _is_file(path: str) -> bool:
    try:
        return Path(path).expanduser().is_file()
    except (OSError, RuntimeError):  # too long, no such user
        return False
