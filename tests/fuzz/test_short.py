"""A short attack with every run of the tests; ``make fuzz`` is the long one."""

import pytest

from tests.fuzz.__main__ import KINDS, attack

CASES = {"models": 5, "mutated files": 100, "crafted files": 60, "commands": 60, "functions": 60, "public": 100}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("kills", "pairs", "full disk")])
def test_nothing_is_found(kind):
    counts, findings = attack(60.0, 0, (kind,), most=CASES.get(kind, 20))  # so many, however fast the machine is
    assert counts[kind] > 0
    assert not findings, "\n".join(findings)
