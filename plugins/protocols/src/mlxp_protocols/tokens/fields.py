"""What becomes of every field of questions about text, as data; shown at ``GET /v1``."""

from mlxp_core.contracts import RequestField

_MODEL = RequestField("model", "honoured", "absent: the default model")

_CONVERSATION = (
    RequestField("messages", "honoured", "a conversation as in chat completions; tokenize and render"),
    RequestField("tools", "honoured", "as in chat completions; with messages", "tools"),
    RequestField(
        "tool_choice", "honoured", "none hides the tools, allowed_tools some of them; with messages", "tools"
    ),
    RequestField(
        "reasoning_effort", "honoured", "none switches thinking off, all else on; with messages", "thinking"
    ),
    RequestField("chat_template_kwargs", "honoured", "as in chat completions; with messages"),
)

RENDER = (_MODEL, *_CONVERSATION)

TOKENIZE = (
    RequestField("prompt", "honoured", "plain text; tokenize"),
    RequestField("add_special_tokens", "honoured", "true if absent; with prompt"),
    _MODEL,
    *_CONVERSATION,
)

DETOKENIZE = (
    RequestField("tokens", "honoured", "token ids; detokenize"),
    RequestField("skip_special_tokens", "honoured", "false if absent; detokenize"),
    _MODEL,
)

FIELDS = (*TOKENIZE, *(field for field in DETOKENIZE if field is not _MODEL))

NAMES = {"prompt": "messages", "template_args": "chat_template_kwargs"}
"""Field of a request that is a conversation -> what this surface calls it."""

HINTS = {
    "messages": 'send a list of messages, such as [{"role": "user", "content": "hello"}]',
    "messages[].role": "use system, developer, user, assistant or tool",
    "messages[].content[].type": "use text or image_url",
    "messages[].tool_call_id": "a tool message names the call that it answers",
    "prompt": "send a text; a conversation goes into messages",
    "tokens": "send a list of token ids, such as [1, 2, 3]",
    "tool_choice": "use none, auto, required, or an object that names a function",
    "reasoning_effort": "use none, minimal, low, medium, high, xhigh or max",
}
