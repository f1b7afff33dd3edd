from mlxp_core.testing.protocol import read_sse
from mlxp_protocols import sse


def test_frames_read_back():
    said = sse.frame(b'{"a": 1}') + sse.KEEP_ALIVE + sse.frame(b"{}", "ping") + sse.frame(b"[DONE]")
    assert read_sse(said) == [(None, '{"a": 1}'), ("ping", "{}"), (None, "[DONE]")]
