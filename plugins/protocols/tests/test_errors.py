import json

import pytest

from mlxp_core.errors import BadRequest, Busy, EngineFault, Forbidden, Unauthorized, Unavailable, UnknownModel
from mlxp_protocols import openai_error


@pytest.mark.parametrize(
    ("error", "status", "kind", "code"),
    [
        (BadRequest("x", param="n"), 400, "invalid_request_error", "invalid_request"),
        (Unauthorized("x"), 401, "authentication_error", "invalid_api_key"),
        (Forbidden("x"), 403, "permission_error", "forbidden"),
        (UnknownModel("x"), 404, "invalid_request_error", "model_not_found"),
        (Busy("x", headers=(("Retry-After", "2"),)), 429, "rate_limit_error", "rate_limit_exceeded"),
        (EngineFault("x"), 500, "server_error", "engine_fault"),
        (Unavailable("x"), 503, "server_error", "unavailable"),
    ],
)
def test_errors_have_the_shape_that_clients_know(error, status, kind, code):
    response = openai_error.render(error)
    told = {"message": "x", "type": kind, "param": error.param, "code": code}
    assert (response.status, json.loads(response.body)) == (status, {"error": told})
    assert response.headers == dict(error.headers)
