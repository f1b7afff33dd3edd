"""How MiniCPM5 is divided among ranks: by heads, and by the width inside feed-forward layers."""

from msgspec.structs import replace

from mlxp_core.contracts import Cut, Division, kv_share, share
from mlxp_minicpm5.config import MiniCPM5Config


def divide(config: MiniCPM5Config, ranks: int) -> Division:
    """Return the network of one rank.

    Raises:
        UnsupportedModel: heads or widths cannot be divided among so many.
    """
    kv_heads, copies = kv_share(config.kv_heads, ranks, "minicpm5: num_key_value_heads")
    tables = () if config.vocabulary % ranks else ("embed_tokens", "lm_head")
    return Division(
        config=replace(
            config,
            heads=share(config.heads, ranks, "minicpm5: num_attention_heads"),
            kv_heads=kv_heads,
            inner=share(config.inner, ranks, "minicpm5: intermediate_size"),
            vocabulary=config.vocabulary // ranks if tables else config.vocabulary,
        ),
        cuts={
            "q_proj": Cut("outputs"),
            "k_proj": Cut("outputs", copies=copies),
            "v_proj": Cut("outputs", copies=copies),
            "o_proj": Cut("inputs"),
            "gate_proj": Cut("outputs"),
            "up_proj": Cut("outputs"),
            "down_proj": Cut("inputs"),
            **dict.fromkeys(tables, Cut("outputs")),
        },
        sums=("o_proj", "mlp"),
        tables=tables,
    )
