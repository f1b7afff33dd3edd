"""The API surface: samples drawn by a curve, and the distribution that a curve bends."""

from mlxp_core.contracts import Endpoint, Exchange, RequestField, WireProtocol
from mlxp_curves import errors
from mlxp_curves.decode import CurveDecoder
from mlxp_curves.wire import Fault, GenerateBody, Samples, Signal, SignalRequest

FIELDS = (
    RequestField("prompt", "honoured", "what a user says; one message"),
    RequestField("model", "honoured", "absent: the default model"),
    RequestField("curve", "honoured", "what to draw by; see the sampler stage `curve`"),
    RequestField("hlg", "honoured", "what to draw by; see the sampler stage `hlg`"),
    RequestField("default", "honoured", "true: draw as the server does, whatever curve and hlg say"),
    RequestField("n", "honoured", "samples, brought into 1 to 8; 3 by default"),
    RequestField("max_tokens", "honoured", "of each sample, brought into 1 to 256; 80 by default"),
    RequestField("seed", "honoured", "of the first sample; sample i draws with seed + i"),
    RequestField("thinking", "honoured", "absent: as the server is set"),
    RequestField("likeliest", "honoured", "of a signal: how many of the likeliest tokens to name"),
)


def make_protocol(decoder: CurveDecoder) -> WireProtocol:
    """Return the protocol around a decoder, which holds its source of ids."""
    generate = [
        Endpoint(
            path=path,
            decode=decoder.generate,
            accepts=GenerateBody,
            returns=Samples,
            summary="Draw a few answers by a curve",
        )
        for path in ("/v1/curves/generate", "/generate")
    ]
    signal = [
        Exchange(
            path=path,
            decode=decoder.signal,
            accepts=SignalRequest,
            returns=Signal,
            summary="Show how likely each next token is",
        )
        for path in ("/v1/curves/signal", "/signal")
    ]
    return WireProtocol(
        name="curves",
        endpoints=(*generate, *signal),
        render_error=errors.render,
        error=Fault,
        fields=FIELDS,
        prefixes=("/v1/curves",),
    )
