"""Coding agents and how each is told to use a server: variables, arguments and files, as data.

What an agent keeps (settings, sessions, caches) goes into ``Target.folder``, which is thrown away. Its own settings
elsewhere are neither read nor changed.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import Struct, field

MESSAGES, RESPONSES, CHAT = "POST /v1/messages", "POST /v1/responses", "POST /v1/chat/completions"

PATIENCE_MS = 3_600_000
"""How long an agent may wait for bytes: a long prompt on a small machine takes its time."""

LONGEST_ANSWER = 8192
"""Tokens that agents plan for an answer where they want to be told."""

PROVIDER = "mlxp"
"""What agents call the server."""

KEY_VARIABLE = "AGENT_API_KEY"


class Target(Struct, frozen=True, kw_only=True):
    """The server to use, and where the agent may write.

    Attributes:
        url: without a path, as ``http://127.0.0.1:8090``.
        key: an API key; any word where the server has none.
        model: its id.
        context: longest sequence in tokens, where it is known.
        thinking, vision: whether the model can.
        folder: the agent's own, thrown away at the end.
        home: the user's home directory.
    """

    url: str
    key: str
    model: str
    folder: str
    home: str
    context: int | None = None
    thinking: bool = False
    vision: bool = False


class Preparation(Struct, frozen=True, kw_only=True):
    """What makes an agent use a target.

    Attributes:
        environment: variables to set.
        unset: variables that would win over them.
        arguments: come before the user's own.
        files: name in the folder -> text.
    """

    environment: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)


class Agent(Struct, frozen=True, kw_only=True):
    """A program that talks to a model.

    Attributes:
        program: what is started.
        install: the command that installs it.
        asks: the endpoint that it needs, as ``GET /v1`` lists it.
    """

    program: str
    install: str
    asks: str
    prepare: Callable[[Target], Preparation]


def _claude(target: Target) -> Preparation:
    models = ("MODEL", "DEFAULT_OPUS_MODEL", "DEFAULT_SONNET_MODEL", "DEFAULT_HAIKU_MODEL")
    window = {} if target.context is None else {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": str(target.context)}
    return Preparation(
        environment={
            "ANTHROPIC_BASE_URL": target.url,
            "ANTHROPIC_AUTH_TOKEN": target.key,
            **{f"ANTHROPIC_{name}": target.model for name in models},
            "CLAUDE_CODE_SUBAGENT_MODEL": target.model,
            "CLAUDE_CONFIG_DIR": target.folder,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_ATTRIBUTION_HEADER": "0",  # it would change the beginning of every prompt
            "DISABLE_AUTOUPDATER": "1",
            "API_TIMEOUT_MS": str(PATIENCE_MS),
            **window,
        },
        unset=(
            "ANTHROPIC_API_KEY",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_USE_VERTEX",
            "CLAUDE_CODE_USE_FOUNDRY",
        ),
        files={".claude.json": _json({"hasCompletedOnboarding": True})},
    )


def _codex(target: Target) -> Preparation:
    window = [] if target.context is None else [f"model_context_window = {target.context}"]
    config = [
        f"model = {_json(target.model)}",
        f"model_provider = {_json(PROVIDER)}",
        *window,
        "check_for_update_on_startup = false",
        "[analytics]",
        "enabled = false",
        f"[model_providers.{PROVIDER}]",
        f"name = {_json(PROVIDER)}",
        f"base_url = {_json(f'{target.url}/v1')}",
        'wire_api = "responses"',
        f"env_key = {_json(KEY_VARIABLE)}",
        f"stream_idle_timeout_ms = {PATIENCE_MS}",
    ]
    return Preparation(
        environment={"CODEX_HOME": target.folder, KEY_VARIABLE: target.key},
        files={"config.toml": "".join(f"{line}\n" for line in config)},
    )


def _opencode(target: Target) -> Preparation:
    limit = {} if target.context is None else {"limit": {"context": target.context, "output": LONGEST_ANSWER}}
    model = {"name": target.model, "reasoning": target.thinking, "attachment": target.vision, **limit}
    name = f"{PROVIDER}/{target.model}"
    config = {
        "provider": {
            PROVIDER: {
                "npm": "@ai-sdk/openai-compatible",
                "name": PROVIDER,
                "options": {"baseURL": f"{target.url}/v1", "apiKey": target.key, "timeout": PATIENCE_MS},
                "models": {target.model: model},
            }
        },
        "model": name,
        "small_model": name,
        "autoupdate": False,
        "share": "disabled",
    }
    places = ("CONFIG", "DATA", "STATE", "CACHE")
    return Preparation(
        environment={
            "OPENCODE_CONFIG": f"{target.folder}/opencode.json",
            **{f"XDG_{place}_HOME": f"{target.folder}/{place.lower()}" for place in places},
            **_git(target),
            "NPM_CONFIG_CACHE": f"{target.folder}/npm",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        },
        unset=("OPENCODE_CONFIG_CONTENT",),
        files={"opencode.json": _json(config)},
    )


def _qwen(target: Target) -> Preparation:
    return Preparation(
        environment={
            "OPENAI_BASE_URL": f"{target.url}/v1",
            "OPENAI_API_KEY": target.key,
            "OPENAI_MODEL": target.model,
            "QWEN_HOME": target.folder,
        },
        arguments=("--auth-type", "openai", "--model", target.model),
        files={
            "settings.json": _json(
                {
                    "general": {"disableAutoUpdate": True},
                    "privacy": {"usageStatisticsEnabled": False},
                }
            )
        },
    )


def _pi(target: Target) -> Preparation:
    window = (
        {}
        if target.context is None
        else {"contextWindow": target.context, "maxTokens": min(LONGEST_ANSWER, target.context)}
    )
    model = {
        "id": target.model,
        "reasoning": target.thinking,
        "input": ["text", "image"] if target.vision else ["text"],
        **window,
    }
    provider = {
        "baseUrl": f"{target.url}/v1",
        "api": "openai-completions",
        "apiKey": target.key,
        "models": [model],
    }
    return Preparation(
        environment={
            "PI_CODING_AGENT_DIR": target.folder,
            "PI_SKIP_VERSION_CHECK": "1",
            "PI_TELEMETRY": "0",
        },
        arguments=("--provider", PROVIDER, "--model", target.model),
        files={"models.json": _json({"providers": {PROVIDER: provider}})},
    )


def _aider(target: Target) -> Preparation:
    name = f"openai/{target.model}"
    known = {"litellm_provider": "openai", "mode": "chat", "supports_vision": target.vision}
    sizes = (
        {}
        if target.context is None
        else {"max_input_tokens": target.context, "max_output_tokens": LONGEST_ANSWER}
    )
    return Preparation(
        environment={
            "OPENAI_API_BASE": f"{target.url}/v1",
            "OPENAI_API_KEY": target.key,
            "HOME": target.folder,
            **_git(target),
        },
        arguments=(
            *("--model", name),
            *("--model-metadata-file", f"{target.folder}/models.json"),
            *("--input-history-file", f"{target.folder}/input"),
            *("--chat-history-file", f"{target.folder}/chat.md"),
            *("--no-check-update", "--no-analytics", "--no-show-model-warnings", "--no-show-release-notes"),
        ),
        files={"models.json": _json({name: {**known, **sizes}})},
    )


AGENTS: Mapping[str, Agent] = {
    "claude": Agent(
        program="claude", install="npm install -g @anthropic-ai/claude-code", asks=MESSAGES, prepare=_claude
    ),
    "codex": Agent(program="codex", install="npm install -g @openai/codex", asks=RESPONSES, prepare=_codex),
    "opencode": Agent(program="opencode", install="npm install -g opencode-ai", asks=CHAT, prepare=_opencode),
    "qwen": Agent(program="qwen", install="npm install -g @qwen-code/qwen-code", asks=CHAT, prepare=_qwen),
    "pi": Agent(
        program="pi", install="npm install -g @earendil-works/pi-coding-agent", asks=CHAT, prepare=_pi
    ),
    "aider": Agent(program="aider", install="uv tool install aider-chat", asks=CHAT, prepare=_aider),
}
"""By the name that ``mlxp launch`` takes."""


def _git(target: Target) -> Mapping[str, str]:
    """Keep git's own settings where the agent gets another home."""
    return {"GIT_CONFIG_GLOBAL": f"{target.home}/.gitconfig"}


def _json(value: str | Mapping[str, object] | Sequence[object]) -> str:
    """Return a value as JSON; a string as JSON is one of TOML, too."""
    return msgspec.json.encode(value).decode()
