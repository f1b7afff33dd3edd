"""The arguments of a streamed call, so that a call that breaks can never be taken for a finished one."""


class HeldEnd:
    """Holds back a closing brace at the end of what was said, until more follows or the call is done.

    So the fragments sent are complete JSON only once the call is.
    """

    def __init__(self) -> None:
        self._held = ""

    def push(self, arguments: str) -> str:
        """Return what may be sent now."""
        said = self._held + arguments
        end = said.rstrip()
        cut = len(end) - 1 if end.endswith("}") else len(said)
        self._held = said[cut:]
        return said[:cut]

    def release(self) -> str:
        """Return what was held: the call is done."""
        held, self._held = self._held, ""
        return held

    def forget(self) -> None:
        """Drop what was held: another call begins."""
        self._held = ""
