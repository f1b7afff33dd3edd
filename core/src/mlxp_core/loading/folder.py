"""A model folder, read and checked: everything but the arrays and the tokenizer's tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from mlxp_core.contracts import FolderFacts, RawConfig
from mlxp_core.errors import ModelFolderError, UnsupportedModel
from mlxp_core.loading.files import model_name, read_object, read_optional, read_text, where
from mlxp_core.loading.shards import StoredTensor, find_tensors
from mlxp_core.prompting import TokenizerParts, read_parts
from mlxp_core.types import GenerationDefaults

_CONTEXT_KEYS = ("max_position_embeddings", "max_sequence_length", "seq_length", "n_positions")
_UNKNOWN_CONTEXT = 4096
"""Tokens, where no file says how long a sequence may be."""

_LONGEST_CONTEXT = 2**31
"""Larger values of ``model_max_length`` mean "not known"."""


class Templates(Struct, frozen=True):
    """The chat templates of a model: the usual one, and one for requests with tools where there is such."""

    default: str | None = None
    with_tools: str | None = None


class ModelFolder(Struct, frozen=True, kw_only=True):
    """What the files of a model say.

    Attributes:
        path: the folder.
        config: config.json.
        model_type: what config.json calls the architecture.
        tokenizer_config: tokenizer_config.json, empty where absent.
        tokenizer: the few parts of tokenizer.json that tell special tokens.
        templates: the chat templates.
        tensors: the stored tensors by name.
        end_ids: tokens that end a turn, by config.json and generation_config.json.
        context: longest sequence in tokens.
        vocabulary: rows of the embedding; ``None`` = as many as the tokenizer has tokens.
        weight_bytes: bytes of the weight files.
        defaults: sampling recommendations.
        warnings: what is odd and was passed over.
    """

    path: Path
    config: RawConfig
    model_type: str
    tokenizer_config: Mapping[str, Any]
    tokenizer: TokenizerParts
    templates: Templates
    tensors: Mapping[str, StoredTensor]
    end_ids: frozenset[int]
    context: int
    vocabulary: int | None
    weight_bytes: int
    defaults: GenerationDefaults
    warnings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return what the model is called."""
        return model_name(self.path)

    def facts(self) -> FolderFacts:
        """Return what families may look at to recognize the model."""
        written = (self.templates.default, self.templates.with_tools)
        return FolderFacts(
            config=self.config,
            template="\n".join(template for template in written if template is not None),
            special_tokens=frozenset(token.content for token in self.tokenizer.added_tokens),
        )


def open_folder(path: Path) -> ModelFolder:
    """Read and check a model folder.

    Of chat_template.jinja and a template in tokenizer_config.json the file of its own wins, as in transformers. A
    model without a chat template is fine: it takes plain text. A broken generation_config.json is a warning.

    Raises:
        ModelFolderError: when a file is missing, damaged or inconsistent.
        UnsupportedModel: when the weights are quantized in a way that is not MLX's.
    """
    path = path.expanduser().resolve()
    if not path.is_dir():
        raise ModelFolderError(f"{path} is no folder; give the folder that holds a model's config.json")
    config = read_object(path / "config.json")
    model_type = config.get("model_type")
    if not isinstance(model_type, str) or not model_type:
        raise ModelFolderError(
            f"{model_name(path)}/config.json has no model_type, so no family can claim the model"
        )
    _refuse_foreign_quantization(path, config)
    if not (path / "tokenizer.json").is_file():
        raise ModelFolderError(
            f"{model_name(path)}/tokenizer.json is missing; convert the model's older tokenizer to one first"
        )
    tokenizer_config = read_optional(path / "tokenizer_config.json")
    generation, warnings = _read_generation(path / "generation_config.json")
    tensors = find_tensors(path)
    context = _context(config, tokenizer_config)
    if context is None:
        warnings += (f"no file says how long a sequence may be; {_UNKNOWN_CONTEXT} tokens are taken",)
    return ModelFolder(
        path=path,
        config=config,
        model_type=model_type,
        tokenizer_config=tokenizer_config,
        tokenizer=read_parts(path / "tokenizer.json"),
        templates=_read_templates(path, tokenizer_config),
        tensors=tensors,
        end_ids=_end_ids(config) | _ids(generation.get("eos_token_id")),
        context=context or _UNKNOWN_CONTEXT,
        vocabulary=_first_count((_text_config(config), config), ("vocab_size",)),
        weight_bytes=sum(file.stat().st_size for file in {tensor.file for tensor in tensors.values()}),
        defaults=_defaults(generation),
        warnings=warnings,
    )


def token_texts(tokenizer_config: Mapping[str, Any]) -> dict[str, str]:
    """Return the token strings that templates know by name: every ``*_token`` that is a string or has content."""
    texts: dict[str, str] = {}
    for name, value in tokenizer_config.items():
        text = value.get("content") if isinstance(value, dict) else value
        if name.endswith("_token") and isinstance(text, str):
            texts[name] = text
    return texts


def _refuse_foreign_quantization(path: Path, config: RawConfig) -> None:
    """Refuse weights that are packed in another way than MLX packs them."""
    section = config.get("quantization_config")
    if isinstance(config.get("quantization"), dict) or not isinstance(section, dict):
        return
    method = section.get("quant_method")
    if method is not None and method != "mlx":
        raise UnsupportedModel(
            f"{model_name(path)} is quantized with {method!r}, a layout MLX does not have; "
            "take the unquantized model or an MLX conversion of it"
        )


def _read_templates(path: Path, tokenizer_config: Mapping[str, Any]) -> Templates:
    file = path / "chat_template.jinja"
    named = path / "additional_chat_templates" / "tool_use.jinja"
    if file.is_file():
        return Templates(read_text(file), read_text(named) if named.is_file() else None)
    written = tokenizer_config.get("chat_template")
    if written is None:
        written = read_optional(path / "chat_template.json").get("chat_template")
    match written:
        case None:
            return Templates()
        case str():
            return Templates(written)
        case list():
            by_name = {
                entry.get("name"): entry.get("template")
                for entry in written
                if isinstance(entry, dict) and isinstance(entry.get("name"), str)
            }
            default, with_tools = by_name.get("default"), by_name.get("tool_use")
            if isinstance(default, str):
                return Templates(default, with_tools if isinstance(with_tools, str) else None)
    raise ModelFolderError(
        f"{where(path / 'tokenizer_config.json')}: chat_template must be a template, "
        "or a list of templates with a name, one of them 'default'"
    )


def _read_generation(path: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return generation_config.json, and a warning instead of a failure where it is broken."""
    try:
        return read_optional(path), ()
    except ModelFolderError as error:
        return {}, (f"{error.message}; the model's own sampling defaults are not used",)


def _defaults(generation: Mapping[str, Any]) -> GenerationDefaults:
    """Take the numbers that make sense, and only numbers."""

    def number(key: str, least: float, most: float = math.inf) -> float | None:
        match generation.get(key):
            case bool():
                return None
            case int() | float() as value if least <= value <= most and math.isfinite(value):
                return float(value)
            case _:
                return None

    top_k = number("top_k", 0, 2**31)
    penalty = number("repetition_penalty", 0)
    return GenerationDefaults(
        temperature=number("temperature", 0),
        top_p=number("top_p", 0, 1),
        top_k=int(top_k) if top_k is not None else None,
        min_p=number("min_p", 0, 1),
        repetition_penalty=penalty or None,
    )


def _end_ids(config: RawConfig) -> frozenset[int]:
    """Return config.json's end tokens: its own, else those of its text part."""
    return _ids(config.get("eos_token_id")) or _ids(_text_config(config).get("eos_token_id"))


def _ids(value: Any) -> frozenset[int]:
    values = value if isinstance(value, list) else [value]
    return frozenset(entry for entry in values if type(entry) is int and entry >= 0)


def _text_config(config: RawConfig) -> RawConfig:
    nested = config.get("text_config")
    return nested if isinstance(nested, dict) else config


def _context(config: RawConfig, tokenizer_config: Mapping[str, Any]) -> int | None:
    stated = _first_count((_text_config(config), config), _CONTEXT_KEYS)
    if stated is not None:
        return stated
    longest = _first_count((tokenizer_config,), ("model_max_length",))
    return longest if longest is not None and longest < _LONGEST_CONTEXT else None


def _first_count(places: tuple[Mapping[str, Any], ...], keys: tuple[str, ...]) -> int | None:
    """Return the first positive integer under any of the keys."""
    values = (place.get(key) for place in places for key in keys)
    return next((value for value in values if type(value) is int and value > 0), None)
