"""Models that are loaded, unloaded, pinned and let loose while the server runs."""

import asyncio

from mlxp_core.desk import catalogue
from mlxp_core.desk.faces import EngineFace
from mlxp_core.engine import Shelve
from mlxp_core.errors import MlxpError
from mlxp_core.types import Catalogue, ModelState, ShelfRequest, Shelved


async def shelve(question: ShelfRequest, engine: EngineFace, offer: Catalogue) -> Shelved:
    """Do what is asked, and say how the model is then. Who leaves meanwhile leaves it being done.

    Raises:
        UnknownModel: it is none of those on offer; even where there is one only, it must be named.
        Conflict: it is pinned, or pinning it would leave no room for another.
        Unavailable: the server is stopping.
        MlxpError: why it could not be loaded.
    """
    model = catalogue.named(offer, question.model).id
    done: asyncio.Future[MlxpError | None] = asyncio.get_running_loop().create_future()

    def reply(fault: MlxpError | None) -> None:
        if not done.done():  # as when nobody waits any more
            done.set_result(fault)

    engine.shelve(Shelve(model=model, action=question.action, reply=reply))
    fault = await done
    if fault is not None:
        raise fault
    return Shelved(model=model, state=engine.stats().models.get(model, ModelState()))
