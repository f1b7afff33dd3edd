"""How Gemma 4 is divided among ranks: by heads, by the width inside feed-forward layers, and by rows of its tables.

Every rank has all experts, each of them narrower, so that all are as busy whichever a token is sent to. What lets the
embeddings of its own into a layer is small, and whole on every rank.
"""

from msgspec.structs import replace

from mlxp_core.contracts import Cut, Division, kv_share, share
from mlxp_gemma4.config import Gemma4Config, Layer


def divide(config: Gemma4Config, ranks: int) -> Division:
    """Return the network of one rank.

    Raises:
        UnsupportedModel: heads or widths cannot be divided among so many.
    """
    tables = () if config.vocabulary % ranks else ("embed_tokens", "lm_head")
    part = replace(
        config,
        heads=share(config.heads, ranks, "gemma4: num_attention_heads"),
        layers=tuple(_layer(layer, ranks) for layer in config.layers),
        vocabulary=config.vocabulary // ranks if tables else config.vocabulary,
    )
    cuts = {
        "q_proj": Cut("outputs"),
        "o_proj": Cut("inputs"),
        "gate_proj": Cut("outputs"),
        "up_proj": Cut("outputs"),
        "down_proj": Cut("inputs"),
        **_kv_cuts(config, ranks),
    }
    if config.experts is not None:
        inner = config.experts.inner
        narrow = share(inner, ranks, "gemma4: moe_intermediate_size")
        part = replace(part, experts=replace(config.experts, inner=narrow))
        cuts["gate_up_proj"] = Cut("outputs", (inner, inner))
    if config.per_layer is not None and config.per_layer.vocabulary % ranks == 0:
        rows = config.per_layer.vocabulary // ranks
        part = replace(part, per_layer=replace(config.per_layer, vocabulary=rows))
        tables = (*tables, "embed_tokens_per_layer")
    cuts |= dict.fromkeys(tables, Cut("outputs"))
    return Division(config=part, cuts=cuts, sums=("o_proj", "mlp", "experts"), tables=tables)


def _layer(layer: Layer, ranks: int) -> Layer:
    kv_heads, _ = kv_share(layer.kv_heads, ranks, "gemma4: num_key_value_heads")
    return replace(layer, kv_heads=kv_heads, inner=share(layer.inner, ranks, "gemma4: intermediate_size"))


def _kv_cuts(config: Gemma4Config, ranks: int) -> dict[str, Cut]:
    cuts = {}
    for number, layer in enumerate(config.layers):
        _, copies = kv_share(layer.kv_heads, ranks, "gemma4: num_key_value_heads")
        for projection in ("k_proj", "v_proj"):
            cuts[f"layers.{number}.self_attn.{projection}"] = Cut("outputs", copies=copies)
    return cuts
