"""What Gemma 4 checkpoints call the tensors of its eyes: original files put ``model.`` in front, converted ones not."""

_OURS = (
    "vision_tower.patch_embedder.",
    "vision_tower.encoder.",
    "vision_tower.",
    "vision_embedder.",
    "embed_vision.",
)

SIDECAR = "optiq_vision.safetensors"
"""A file that holds the eyes of a model whose own files hold its text network alone; no index lists it."""


def rename(name: str) -> str | None:
    """Return the parameter a tensor is for; ``None`` for those that are not of the eyes."""
    rest = name.removeprefix("model.")
    prefix = next((prefix for prefix in _OURS if rest.startswith(prefix)), None)
    if prefix is None or "rotary_emb." in rest:
        return None
    return rest.removeprefix(prefix)
