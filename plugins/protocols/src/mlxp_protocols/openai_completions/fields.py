"""What becomes of every field of a completions request, as data; shown at ``GET /v1``."""

from mlxp_core.contracts import RequestField
from mlxp_protocols import guided

_HONOURED = {
    "prompt": "a text, texts, token ids, or lists of token ids; prompts times n are at most 64",
    "model": "absent: the default model",
    "stream": "",
    "stream_options": "include_usage; include_obfuscation has no effect",
    "max_tokens": "16 if absent, as the API documents; at least 1",
    "temperature": "0 to 2; 0 is greedy",
    "top_p": "0 to 1; 0 and 1 switch it off",
    "seed": "any integer; the one used is reported as choices[].mlxp.seed",
    "stop": "a string or up to 16",
    "n": "1 to 8 for each prompt",
    "best_of": "only as many as n",
    "echo": "not together with logprobs",
    "logprobs": "0 to 5",
    "logit_bias": "token id to a number from -100 to 100",
    "presence_penalty": "-2 to 2",
    "frequency_penalty": "-2 to 2",
    "top_k": "extension; 0 switches it off",
    "min_p": "extension; 0 to 1; 0 switches it off",
    "repetition_penalty": "extension; 1 switches it off",
    "repetition_window": "extension; tokens that repetition_penalty looks back",
    "adapter": 'extension; "a", "a+b", "a,b" or "none"',
    "sampler_stages": "extension; stage name to its settings",
    "explain_cache": "extension; choices[].mlxp.cache tells what the prompt cache did, and why not more",
    **guided.NOTES,
}

_ACCEPTED = {"user": ""}

_REFUSED = {
    "suffix": "the models here write on at the end and do not fill in; leave it out",
}

FIELDS = (
    *(RequestField(name, "honoured", note) for name, note in _HONOURED.items()),
    *(RequestField(name, "accepted", note) for name, note in _ACCEPTED.items()),
    *(RequestField(name, "refused", note) for name, note in _REFUSED.items()),
)

NAMES = {
    "adapters": "adapter",
    "stages": "sampler_stages",
    "choices": "n",
    "top_scores": "logprobs",
}
"""Field of a request -> what this surface calls it, where that differs."""

HINTS = {
    "prompt": "send a text, a list of texts, token ids, or a list of lists of token ids",
    "prompt[]": "send a text, a list of texts, token ids, or a list of lists of token ids",
    "stop": "send a non-empty string, or up to 16 of them",
    "logit_bias": "keys are token ids, values numbers from -100 to 100",
}
