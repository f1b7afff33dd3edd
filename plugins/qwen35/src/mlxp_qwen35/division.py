"""How Qwen 3.5 is divided among ranks: by heads, those of delta nets too, and by the width inside feed-forward layers.

Every rank has all experts, each of them narrower, so that all are as busy whichever a token is sent to.
"""

from msgspec.structs import replace

from mlxp_core.contracts import Cut, Division, kv_share, share
from mlxp_qwen35.config import Delta, Experts, Qwen35Config


def divide(config: Qwen35Config, ranks: int) -> Division:
    """Return the network of one rank.

    Raises:
        UnsupportedModel: heads or widths cannot be divided among so many.
    """
    kv_heads, copies = kv_share(config.kv_heads, ranks, "qwen35: num_key_value_heads")
    tables = () if config.vocabulary % ranks else ("embed_tokens", "lm_head")
    return Division(
        config=replace(
            config,
            heads=share(config.heads, ranks, "qwen35: num_attention_heads"),
            kv_heads=kv_heads,
            delta=_delta(config.delta, ranks),
            feedforward=_feedforward(config.feedforward, ranks),
            vocabulary=config.vocabulary // ranks if tables else config.vocabulary,
        ),
        cuts={
            "q_proj": Cut("outputs"),
            "k_proj": Cut("outputs", copies=copies),
            "v_proj": Cut("outputs", copies=copies),
            "o_proj": Cut("inputs"),
            **_delta_cuts(config.delta),
            **_feedforward_cuts(config.feedforward),
            **dict.fromkeys(tables, Cut("outputs")),
        },
        sums=("o_proj", "out_proj", "mlp"),
        tables=tables,
    )


def _delta(delta: Delta, ranks: int) -> Delta:
    return replace(
        delta,
        key_heads=share(delta.key_heads, ranks, "qwen35: linear_num_key_heads"),
        heads=share(delta.heads, ranks, "qwen35: linear_num_value_heads"),
    )


def _delta_cuts(delta: Delta) -> dict[str, Cut]:
    queries = delta.key_heads * delta.key_dim
    runs = (queries, queries, delta.heads * delta.value_dim)  # queries, keys, values
    return {
        "in_proj_qkv": Cut("outputs", runs),
        "conv1d": Cut("first", runs),
        **dict.fromkeys(("in_proj_z", "in_proj_b", "in_proj_a", "A_log", "dt_bias"), Cut("outputs")),
        "out_proj": Cut("inputs"),
    }


def _feedforward(feedforward: int | Experts, ranks: int) -> int | Experts:
    match feedforward:
        case Experts(inner=inner, shared=shared):
            return replace(
                feedforward,
                inner=share(inner, ranks, "qwen35: moe_intermediate_size"),
                shared=share(shared, ranks, "qwen35: shared_expert_intermediate_size"),
            )
        case inner:
            return share(inner, ranks, "qwen35: intermediate_size")


def _feedforward_cuts(feedforward: int | Experts) -> dict[str, Cut]:
    cuts = {"gate_proj": Cut("outputs"), "up_proj": Cut("outputs"), "down_proj": Cut("inputs")}
    match feedforward:
        case Experts(inner=inner):
            return {**cuts, "gate_up_proj": Cut("outputs", (inner, inner))}
        case _:
            return cuts
