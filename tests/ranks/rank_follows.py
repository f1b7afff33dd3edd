"""A rank that is led: what it loads, it is told by path, or by name within the folder of its first argument."""

import os
import sys
from pathlib import Path

from mlxp_core.memory.device import this_machine
from mlxp_core.ranks import launched
from mlxp_core.ranks.follower import Follower
from mlxp_core.ranks.meeting import meet
from mlxp_core.ranks.part import load_part

sys.path.insert(0, str(Path(__file__).parent))
from rank_sources import source_of  # beside this file

meeting = meet(launched(os.environ), this_machine())


def load(model, fingerprint):
    source = source_of(str(Path(sys.argv[1]) / model))
    assert source.fingerprint == fingerprint
    return load_part(source, meeting.group)


Follower(meeting.group, meeting.line, load).run()
