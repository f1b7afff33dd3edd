"""What becomes of every field of a messages request, as data; shown at ``GET /v1``."""

from collections.abc import Mapping

from mlxp_core.contracts import RequestField
from mlxp_core.types import Capability
from mlxp_protocols import extensions, guided

_HONOURED = {
    "messages": "at least one; documents are read as text, PDF and uploaded files are refused",
    "max_tokens": "required; thinking included",
    "model": "absent: the default model",
    "system": "a string or text blocks, which are lines of one text",
    "stream": "",
    "temperature": "0 to 1; 0 is greedy",
    "top_p": "0 to 1; 0 and 1 switch it off",
    "top_k": "0 switches it off",
    "stop_sequences": "never searched inside thinking or calls",
    "tools": "with an input_schema; others are the provider's, and are left out with a warning",
    "tool_choice": "auto, any, tool or none, with disable_parallel_tool_use",
    "thinking": (
        "enabled, adaptive and between_tools switch it on, disabled off; budget_tokens is the most that the "
        "thinking before the answer may have; display: omitted keeps the words back"
    ),
    "output_config": "format: json_schema; effort and task_budget have no effect",
    "output_format": "the older place of output_config.format",
    "adapter": 'extension; "a", "a+b", "a,b" or "none"',
    "seed": "extension; any integer; the one used is reported as mlxp.seed",
    "sampler_stages": "extension; stage name to its settings",
    "chat_template_kwargs": "extension; enable_thinking wins over thinking, the rest goes to the template",
    "explain_cache": "extension; mlxp.cache tells what the prompt cache did, and why not more",
    **guided.NOTES,
}

_ACCEPTED = {
    "betas": "sent as a header by the clients; none is needed",
    "billing_policy": "nothing is billed",
    "cache_control": "prefixes are found without marks",
    "context_management": "nothing is cleared from the conversation",
    "diagnostics": "",
    "fallback_credit_token": "nothing is billed",
    "fallbacks": "the model that was named answers",
    "inference_geo": "",
    "mcp_servers": "an empty list; anything else is refused: offer the tools of these servers in tools",
    "metadata": "not stored",
    "service_tier": "there is one tier",
    "speed": "there is one speed",
    "user_profile_id": "",
    "workspace_id": "",
}

_REFUSED = {
    "compaction": "conversations are not summarized here; ask for a summary in a message",
    "container": "there are no containers here; leave it out",
    "thread": "conversations are not kept here; send all messages",
}

_NEEDS: Mapping[str, Capability] = {
    "tools": "tools",
    "tool_choice": "tools",
    "thinking": "thinking",
}

FIELDS = (
    *(RequestField(name, "honoured", note, _NEEDS.get(name)) for name, note in _HONOURED.items()),
    *(RequestField(name, "accepted", note) for name, note in _ACCEPTED.items()),
    *(RequestField(name, "refused", note) for name, note in _REFUSED.items()),
)

NAMES = {
    **extensions.NAMES,
    "prompt": "messages",
    "output": "output_config.format",
    "thinking_budget": "thinking.budget_tokens",
}
"""Field of a request -> what this surface calls it, where that differs."""

HINTS = {
    "messages": 'send a list of messages, such as [{"role": "user", "content": "hello"}]',
    "messages[].role": "use user, assistant or system",
    "messages[].content[].type": "use text, image, document, thinking, tool_use, tool_result or search_result",
    "messages[].content[].source.type": "use base64 or url for images, text or content for documents",
    "max_tokens": "say how many tokens the answer may have, at least 1",
    "mcp_servers": "servers of tools are not asked here; offer their tools in tools",
    "tool_choice.type": "use auto, any, tool or none",
    "thinking.type": "use enabled, adaptive or disabled",
    "system": "send a string or a list of text blocks",
}
