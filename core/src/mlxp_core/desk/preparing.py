"""From a resolved request to the orders of its choices: what takes time and needs no arrays. Runs on worker threads."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mlxp_core.contracts import Constraint, ConstraintKind, Vocabulary
from mlxp_core.desk import defaults
from mlxp_core.desk.faces import FrontendFace
from mlxp_core.desk.questions import echoed
from mlxp_core.engine import Order, Pool
from mlxp_core.errors import BadRequest
from mlxp_core.memory import Admission
from mlxp_core.prompting import Prompt
from mlxp_core.reading import Reader, Thought
from mlxp_core.types import Event, GenerateRequest, OutputShape


class Prepared(Struct, frozen=True):
    """One prompt of a request, ready to be queued.

    Attributes:
        request: with this prompt alone, and the length of its answers set.
        choices: what reads each choice, and what holds it to a shape.
        thought: what is to be known of thinking.
        first: the number of the first choice.
        echo: the prompt's text, where it is to be told.
    """

    request: GenerateRequest
    prompt: Prompt
    choices: tuple[tuple[Reader, Constraint | None], ...]
    thought: Thought | None
    first: int
    echo: str


def prepare(
    request: GenerateRequest,
    frontend: FrontendFace,
    constraints: Mapping[str, ConstraintKind],
    *,
    usual_length: int,
    admission: Admission | None = None,
) -> list[Prepared]:
    """Prepare each prompt of a request.

    Args:
        request: resolved but for ``max_tokens``.
        frontend: of the model that will answer.
        constraints: kinds of shapes by name; the request's is among them.
        usual_length: of an answer, in tokens, where the request does not say.
        admission: says what fits into memory; ``None`` = everything.

    Raises:
        BadRequest: a prompt cannot be prepared.
        ContextOverflow: one does not fit the model with its answer.
        OverBudget: one will never fit this machine with its answer.
    """
    prompts = (request.prompt, *request.further_prompts)
    alone = [replace(request, prompt=prompt, further_prompts=()) for prompt in prompts]
    return [
        _prepare_one(
            one,
            frontend,
            constraints,
            usual_length=usual_length,
            admission=admission,
            first=place * request.choices,
        )
        for place, one in enumerate(alone)
    ]


def _prepare_one(
    request: GenerateRequest,
    frontend: FrontendFace,
    constraints: Mapping[str, ConstraintKind],
    *,
    usual_length: int,
    admission: Admission | None,
    first: int,
) -> Prepared:
    shape, tokenizer = request.output, frontend.tokenizer
    kind = None if shape.kind == "text" else constraints[shape.kind]
    # Before any work, as it may be refused.
    asked_by = "tools" if shape.mixed or request.tool_choice.mode in {"required", "one"} else "output"
    held = [_held(kind, shape, tokenizer, asked_by) for _ in range(request.choices)]
    prompt = frontend.prepare(request)
    length = defaults.answer_length(
        request.max_tokens, prompt=len(prompt.tokens), usual=usual_length, model=frontend.info
    )
    if admission is not None:
        length = admission.answer(
            request.model,
            len(prompt.tokens),
            length,
            asked=request.max_tokens is not None,
            choices=request.choices,
            image=prompt.largest_image,
        )
    request = replace(request, max_tokens=length)
    choices = tuple(
        (frontend.reader(request, prompt, choice), constraint)
        for choice, constraint in enumerate(held, first)
    )
    thought = frontend.thought(request, prompt)
    return Prepared(request, prompt, choices, thought, first, echoed(request, frontend))


def _held(
    kind: ConstraintKind | None, shape: OutputShape, vocabulary: Vocabulary, asked_by: str
) -> Constraint | None:
    try:
        return None if kind is None else kind.compile(shape.body, vocabulary)
    except BadRequest as error:
        raise BadRequest(error.message, param=error.param or asked_by) from error


def orders(
    prepared: Sequence[Prepared],
    *,
    protocol: str,
    sink: Callable[[list[Event]], object],
    mounts: tuple[str, ...] = (),
    pool: Pool | None = None,
) -> list[Order]:
    """Return an order for each choice of each prompt.

    Args:
        prepared: all prompts of a request.
        protocol: which API surface asks; for the record.
        sink: takes the events of all choices.
        mounts: keys of the adapters that all of them take.
        pool: takes the numbers that are wanted in place of an answer.
    """
    return [
        Order(
            request=one.request,
            prompt=one.prompt,
            reader=reader,
            model=one.request.model,
            sink=sink,
            choice=choice,
            protocol=protocol,
            constraint=constraint,
            thought=one.thought,
            pool=pool,
            echo=one.echo,
            adapters=mounts,
        )
        for one in prepared
        for choice, (reader, constraint) in enumerate(one.choices, one.first)
    ]
