"""The text of a thinking block: a header and one newline at each edge are layout, not thought.

Templates write a newline before the closing marker, and not all of them trim the thought that a client sends back. If
that newline counted as thought, history would grow by one on every turn, and the prompt cache would miss.
"""


class ThoughtText:
    """Swallows the header and one newline at each edge of a block, however the text is cut.

    Args:
        header: text right after the opening marker that is no thought, such as a channel name with its newline.
    """

    def __init__(self, header: str) -> None:
        self._header = header
        self._held = ""
        self._in_header = bool(header)
        self._newline = True
        self._last = ""  # a newline that may turn out to be the last

    def feed(self, text: str) -> str:
        """Take more text; return what is thought."""
        text = self._last + self._begin(text)
        body = text.removesuffix("\n")
        self._last = text[len(body) :]
        return body

    def close(self) -> str:
        """The closing marker follows; return what was held and is thought after all."""
        self._last = ""
        return self.flush().removesuffix("\n")

    def flush(self) -> str:
        """The answer ends within the block; return what was held.

        A header that only lacks its newline is no thought.
        """
        held, self._held, self._in_header = self._held, "", False
        last, self._last = self._last, ""
        return last + ("" if held == self._header.rstrip("\n") else held.removeprefix("\n"))

    def _begin(self, text: str) -> str:
        """Take more text; return it without what is layout at the start."""
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
