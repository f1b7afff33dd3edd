"""The conformance kit: subclass a suite, give it your object, and the laws of its contract are tested.

Not a pytest plugin: an entry point would import us in every project that has us installed, before its coverage starts.
"""

import pkgutil

import pytest

# So that a failing law shows both sides of its comparison.
pytest.register_assert_rewrite(*(f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__)))
