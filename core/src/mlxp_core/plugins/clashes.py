"""Two plugins that bring the same thing: refused naming both, because any choice between them would hang on order."""

from collections.abc import Iterable, Mapping

from msgspec import Struct


class Brought(Struct, frozen=True):
    """Something a plugin brings: ``kind`` as messages name it, unique by ``name`` within it."""

    owner: str
    kind: str
    name: str


def clashes(things: Iterable[Brought], described: Mapping[str, str]) -> dict[str, str]:
    """Return owner -> fault for every owner of something that is brought twice.

    Args:
        things: everything brought.
        described: owner -> how messages name it.
    """
    owners: dict[tuple[str, str], list[str]] = {}
    for thing in things:
        owners.setdefault((thing.kind, thing.name), []).append(thing.owner)
    faults: dict[str, list[str]] = {}
    for (kind, name), names in owners.items():
        if len(names) > 1:
            distinct = sorted(set(names))
            who = " and ".join(described[owner] for owner in distinct)
            many = f"both bring the {kind} {name!r}; switch one of them off"
            text = f"{who} {many if len(distinct) > 1 else f'brings the {kind} {name!r} twice'}"
            for owner in distinct:
                faults.setdefault(owner, []).append(text)
    return {owner: "; ".join(texts) for owner, texts in faults.items()}
