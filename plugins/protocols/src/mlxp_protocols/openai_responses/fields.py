"""What becomes of every field of a request for a response, as data; shown at ``GET /v1``."""

from collections.abc import Mapping

from mlxp_core.contracts import RequestField
from mlxp_core.types import Capability
from mlxp_protocols import extensions, guided

_HONOURED = {
    "input": "a string or items; items of kinds that mean nothing to a model are passed over with a warning",
    "model": "absent: the default model",
    "instructions": "lead the conversation; those of a previous response are not carried over",
    "previous_response_id": "of a response that is still kept",
    "stream": "",
    "store": "true unless false; kept for a while only, see the settings",
    "max_output_tokens": "thinking included",
    "temperature": "0 to 2; 0 is greedy",
    "top_p": "0 to 1; 0 and 1 switch it off",
    "top_logprobs": "0 to 20",
    "include": "message.output_text.logprobs; the others have no effect, reasoning is told in clear anyway",
    "tools": "functions, custom tools and namespaces of them; others are passed over with a warning",
    "tool_choice": "none, auto, required, a function, a custom tool, or allowed_tools",
    "parallel_tool_calls": "",
    "text": "format: text, other kinds where a plugin brings them; verbosity has no effect",
    "reasoning": "effort none switches thinking off, every other on; the whole reasoning is told as its summary",
    "metadata": "echoed",
    "seed": "extension; any integer; the one used is reported as mlxp.seed",
    "top_k": "extension; 0 switches it off",
    "min_p": "extension; 0 to 1; 0 switches it off",
    "repetition_penalty": "extension; 1 switches it off",
    "repetition_window": "extension; tokens that repetition_penalty looks back",
    "max_tokens": "extension; max_output_tokens wins over it",
    "chat_template_kwargs": "extension; enable_thinking wins over reasoning, the rest goes to the template",
    "adapter": 'extension; "a", "a+b", "a,b" or "none"',
    "sampler_stages": "extension; stage name to its settings",
    "thinking_budget": "extension; most tokens that the thinking before the answer may have",
    "explain_cache": "extension; mlxp.cache tells what the prompt cache did, and why not more",
    **guided.NOTES,
}

_ACCEPTED = {
    "access_programs": "there are none",
    "background": "false; true is refused",
    "background_options": "nothing runs in the background",
    "client_metadata": "extension; sent by agents about themselves",
    "context_management": "nothing is compacted",
    "image": "the model decides the resolution",
    "max_tool_calls": "counts built-in tools, of which there are none",
    "prompt_cache_key": "echoed; prefixes are found without a key",
    "prompt_cache_options": "prefixes are always looked for",
    "prompt_cache_retention": "the cache decides by its size",
    "safety_identifier": "echoed",
    "service_tier": "there is one tier",
    "stream_options": "nothing is ever obfuscated",
    "truncation": "echoed; nothing is dropped, a conversation that is too long is refused",
    "user": "echoed",
}

_REFUSED = {
    "conversation": "conversations are not kept here; use previous_response_id",
    "moderation": "nothing is moderated here; leave it out",
    "prompt": "prompt templates are not kept here; send instructions and input",
}

_NEEDS: Mapping[str, Capability] = {
    "tools": "tools",
    "tool_choice": "tools",
    "parallel_tool_calls": "tools",
    "reasoning": "thinking",
    "thinking_budget": "thinking",
}

FIELDS = (
    *(RequestField(name, "honoured", note, _NEEDS.get(name)) for name, note in _HONOURED.items()),
    *(RequestField(name, "accepted", note) for name, note in _ACCEPTED.items()),
    *(RequestField(name, "refused", note) for name, note in _REFUSED.items()),
)

NAMES = {
    **extensions.NAMES,
    "prompt": "input",
    "max_tokens": "max_output_tokens",
    "top_scores": "top_logprobs",
    "output": "text.format",
}
"""Field of a request -> what this surface calls it, where that differs."""

HINTS = {
    "input": 'send a string, or a list of items such as {"role": "user", "content": "hello"}',
    "reasoning.effort": "use none, minimal, low, medium, high, xhigh or max",
    "tools": "send a list of tools",
    "truncation": "use disabled or auto",
}
