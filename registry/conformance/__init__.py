"""Executable contracts: what each kind must do, run against anybody's class.

from registry import conformance

report = conformance.check_component("norm", DynamicTanh)

@conformance.parametrize("norm", DynamicTanh)
def test_conformance(check):
    check()
"""

from registry.conformance.battery import Check, checks_of
from registry.conformance.decorator import parametrize
from registry.conformance.errors import CheckFailed
from registry.conformance.report import Report, Result
from registry.conformance.running import check_component, check_spec

__all__ = [
    "Check",
    "CheckFailed",
    "Report",
    "Result",
    "check_component",
    "check_spec",
    "checks_of",
    "parametrize",
]
