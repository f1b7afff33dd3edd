"""The beginning of a thinking block: a header and one newline are layout, not thought."""


class ThoughtStart:
    """Swallows the header and one newline at the start of a block, however the text is cut.

    Args:
        header: text right after the opening marker that is no thought, such as a channel name with its newline.
    """

    def __init__(self, header: str) -> None:
        self._header = header
        self._held = ""
        self._in_header = bool(header)
        self._newline = True

    def feed(self, text: str) -> str:
        """Take more text; return what is thought."""
        if self._in_header:
            text = self._held + text
            if len(text) < len(self._header) and self._header.startswith(text):
                self._held = text
                return ""
            self._held, self._in_header = "", False
            if text.startswith(self._header):
                text = text[len(self._header) :]
                self._newline = not self._header.endswith("\n")
        if self._newline and text:
            self._newline = False
            text = text.removeprefix("\n")
        return text

    def flush(self) -> str:
        """Return what was held, because the block ends here; a header that only lacks its newline is no thought."""
        held, self._held, self._in_header = self._held, "", False
        return "" if held == self._header.rstrip("\n") else held.removeprefix("\n")
