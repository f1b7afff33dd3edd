"""What becomes of every field of a chat request, as data; shown at ``GET /v1``."""

from collections.abc import Mapping

from mlxp_core.contracts import RequestField
from mlxp_core.types import Capability
from mlxp_protocols import extensions, guided

_HONOURED = {
    "messages": "at least one",
    "model": "absent: the default model",
    "stream": "",
    "stream_options": "include_usage; include_obfuscation has no effect",
    "max_tokens": "thinking included",
    "max_completion_tokens": "wins over max_tokens",
    "temperature": "0 to 2; 0 is greedy",
    "top_p": "0 to 1; 0 and 1 switch it off",
    "seed": "any integer; the one used is reported as choices[].mlxp.seed",
    "stop": "a string or up to 16; never searched inside thinking or calls",
    "n": "1 to 8",
    "logprobs": "of the visible answer",
    "top_logprobs": "0 to 20; needs logprobs",
    "logit_bias": "token id to a number from -100 to 100",
    "presence_penalty": "-2 to 2",
    "frequency_penalty": "-2 to 2",
    "tools": "of type function",
    "tool_choice": "none, auto, required, a function, or allowed_tools",
    "parallel_tool_calls": "",
    "response_format": "text; other kinds where a plugin brings them",
    "reasoning_effort": "none switches thinking off, everything else on",
    "top_k": "extension; 0 switches it off",
    "min_p": "extension; 0 to 1; 0 switches it off",
    "repetition_penalty": "extension; 1 switches it off",
    "repetition_window": "extension; tokens that repetition_penalty looks back",
    "chat_template_kwargs": "extension; enable_thinking wins over reasoning_effort, the rest goes to the template",
    "adapter": 'extension; "a", "a+b", "a,b" or "none"',
    "sampler_stages": "extension; stage name to its settings",
    "explain_cache": "extension; choices[].mlxp.cache tells what the prompt cache did, and why not more",
    "thinking_budget": "extension; most tokens that the thinking before the answer may have",
    **guided.NOTES,
}

_ACCEPTED = {
    "metadata": "not stored",
    "modalities": '["text"]; anything else is refused',
    "prompt_cache_key": "prefixes are found without a key",
    "prompt_cache_options": "prefixes are always looked for",
    "prompt_cache_retention": "the cache decides by its size",
    "safety_identifier": "",
    "service_tier": "there is one tier",
    "store": "nothing is stored",
    "user": "",
    "verbosity": "say it in the messages",
}

_REFUSED = {
    "audio": "no model here speaks; leave it out",
    "function_call": "this form is retired; use tool_choice",
    "functions": "this form is retired; use tools",
    "moderation": "nothing is moderated here; leave it out",
    "prediction": "predicted outputs are not used; leave it out",
    "web_search_options": "there is no web search here; offer a tool that searches",
}

_NEEDS: Mapping[str, Capability] = {
    "tools": "tools",
    "tool_choice": "tools",
    "parallel_tool_calls": "tools",
    "reasoning_effort": "thinking",
    "thinking_budget": "thinking",
}

FIELDS = (
    *(RequestField(name, "honoured", note, _NEEDS.get(name)) for name, note in _HONOURED.items()),
    *(RequestField(name, "accepted", note) for name, note in _ACCEPTED.items()),
    *(RequestField(name, "refused", note) for name, note in _REFUSED.items()),
)

NAMES = {
    **extensions.NAMES,
    "prompt": "messages",
    "choices": "n",
    "top_scores": "top_logprobs",
    "output": "response_format",
}
"""Field of a request -> what this surface calls it, where that differs."""

HINTS = {
    "messages": 'send a list of messages, such as [{"role": "user", "content": "hello"}]',
    "messages[].role": "use system, developer, user, assistant or tool",
    "messages[].content[].type": "use text or image_url",
    "messages[].tool_call_id": "a tool message names the call that it answers",
    "stop": "send a non-empty string, or up to 16 of them",
    "tool_choice": "use none, auto, required, or an object that names a function",
    "modalities[]": "answers are text",
    "logit_bias": "keys are token ids, values numbers from -100 to 100",
    "reasoning_effort": "use none, minimal, low, medium, high, xhigh or max",
}
