"""From a request to the tokens of its prompt; runs on worker threads and holds no arrays."""

from mlxp_core.prompting.lesson import Lesson, lesson
from mlxp_core.prompting.limits import MOST_BYTES, MOST_IMAGES
from mlxp_core.prompting.pieces import byte_letters
from mlxp_core.prompting.prepare import Prompt, prepare
from mlxp_core.prompting.sight import Sight
from mlxp_core.prompting.template import ChatTemplate
from mlxp_core.prompting.tokenizer import AddedToken, Tokenizer, TokenizerParts, read_parts
from mlxp_core.prompting.traits import TemplateTraits

__all__ = [
    "MOST_BYTES",
    "MOST_IMAGES",
    "AddedToken",
    "ChatTemplate",
    "Lesson",
    "Prompt",
    "Sight",
    "TemplateTraits",
    "Tokenizer",
    "TokenizerParts",
    "byte_letters",
    "lesson",
    "prepare",
    "read_parts",
]
