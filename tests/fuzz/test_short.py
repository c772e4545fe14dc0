"""A short attack with every run of the tests; ``make fuzz`` is the long one."""

import pytest

from tests.fuzz.__main__ import KINDS, attack


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("kills", "pairs", "full disk")])
def test_nothing_is_found(kind):
    counts, findings = attack(1.5, 0, (kind,))
    assert counts[kind] > 0
    assert not findings, "\n".join(findings)
