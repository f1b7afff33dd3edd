"""Who holds answers off holds off answers alone."""

import pytest

from mlxp_core.desk.door import Door
from mlxp_core.errors import Unavailable


def test_while_answers_are_held_off_other_things_are_let_in():
    door = Door()
    door.check()
    door.check_held()
    door.held = "a job has the machine"
    door.check()
    with pytest.raises(Unavailable, match="a job has the machine") as refused:
        door.check_held()
    assert dict(refused.value.headers)["retry-after"]
    door.held = None
    door.check_held()


def test_a_stopping_server_lets_nothing_in():
    door = Door()
    door.stopping = True
    with pytest.raises(Unavailable, match="stopping"):
        door.check()
