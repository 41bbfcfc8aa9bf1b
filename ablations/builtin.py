"""The plugin that registers the built-in measures and executors."""

from __future__ import annotations

from ablations.declared.attention_map import ATTENTION_MAP
from ablations.declared.costs import COSTS
from ablations.declared.gradient_flow import GRADIENT_FLOW
from ablations.declared.one_step import ONE_STEP
from ablations.declared.parameters import PARAMETERS
from ablations.declared.signal_propagation import SIGNAL_PROPAGATION
from ablations.declared.speed import SPEED
from ablations.declared.training import TRAINING
from registry import ExecutorSpec, MeasureSpec, hookimpl


@hookimpl
def register_measures() -> list[MeasureSpec]:
    """The built-in measures."""
    return [
        PARAMETERS,
        COSTS,
        GRADIENT_FLOW,
        SIGNAL_PROPAGATION,
        ATTENTION_MAP,
        ONE_STEP,
        TRAINING,
        SPEED,
    ]


@hookimpl
def register_executors() -> list[ExecutorSpec]:
    """The built-in executors."""
    return [
        ExecutorSpec(
            name="inline",
            target="ablations.executors.inline:Inline",
            summary="One trial after another in this process.",
        ),
        ExecutorSpec(
            name="local",
            target="ablations.executors.local:Local",
            summary="Worker processes on this machine; a dead or hung one costs its trial alone.",
        ),
        ExecutorSpec(
            name="ray",
            target="ablations.executors.ray:Ray",
            summary="Nodes of a Ray cluster; a lost one costs time alone.",
        ),
    ]
