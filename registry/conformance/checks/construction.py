"""How a component is made: its constructor, its parts and the roles of its parameters."""

from __future__ import annotations

import torch
from torch import nn

from registry.conformance.errors import CheckFailed, NotApplicable
from registry.conformance.sizes import NAMED
from registry.conformance.subject import Setting, Subject
from registry.conformance.trials import trials_of
from registry.contracts import ParameterRole
from registry.errors import InvalidOptions, InvalidSpec, nearest


def constructor(subject: Subject) -> None:
    """Takes dims, makers and annotated keyword-only options with valid defaults."""
    try:
        _ = subject.values
    except (InvalidSpec, InvalidOptions) as error:
        raise CheckFailed(str(error)) from error


def builds(subject: Subject) -> str | None:
    """Can be built at some sizes, twice the same; other sizes it may refuse."""
    for setting in subject.settings:
        one, other = (subject.build(setting).component for _ in range(2))
        if not subject.is_module:
            continue
        for name, tensor in one.state_dict().items():
            if not _equal(tensor, other.state_dict()[name]):
                raise CheckFailed(
                    f"{name!r} differs between two built under one random state: draw from torch's "
                    "global state alone while building"
                )
        for name, parameter in one.named_parameters():
            if not parameter.requires_grad:
                raise CheckFailed(
                    f"parameter {name!r} has requires_grad False, but the measures differentiate "
                    "by every parameter: register it as a buffer"
                )
    sizes = dict.fromkeys(setting.sizes.label for setting in subject.settings)
    return f"at sizes: {'; '.join(sizes)}"


def meta_device(subject: Subject) -> None:
    """Can be built on the meta device, with the same names and shapes."""
    for setting in subject.settings:
        real = _shapes(subject.build(setting).component)
        try:
            with torch.device("meta"):
                built = subject.build(setting)
        except CheckFailed as error:
            raise CheckFailed(
                f"on the meta device, where only shapes are, {error}".partition(": for what")[0]
            ) from error
        for name, shape in _shapes(built.component).items():
            if real.get(name) != shape:
                raise CheckFailed(
                    f"{name!r} has shape {shape} on the meta device and {real.get(name)} "
                    "otherwise: make shapes of sizes alone"
                )
        missing = sorted(set(real) - set(_shapes(built.component)))
        if missing:
            raise CheckFailed(f"{missing[0]!r} is missing on the meta device")


def parts(subject: Subject) -> None:
    """Every part that a maker made is held as a submodule, and takes part in the forward pass."""
    if not subject.signature.makers:
        raise NotApplicable("it asks for no other component")
    made = 0
    for setting in subject.settings:
        built = subject.build(setting)
        held = {id(module) for module in built.component.modules()}
        alive = [(kind, part) for kind, held_by in built.parts if (part := held_by()) is not None]
        called = _called(subject, setting, built.component, [part for _, part in alive])
        made += len(alive)
        for number, (kind, part) in enumerate(alive):
            if id(part) not in held:
                raise CheckFailed(
                    f"{kind} number {_number(alive, part)} is not held as a submodule, so that it "
                    "is neither trained nor counted: assign it to an attribute, or put several "
                    "into a ModuleList"
                )
            if number not in called:
                raise CheckFailed(
                    f"{kind} number {_number(alive, part)} is made but never called: make no more "
                    "parts than the forward pass uses"
                )
    if not made:
        raise NotApplicable("with these options it makes no other component")


def roles(subject: Subject) -> None:
    """`parameter_roles` names parameters that it has, and ranges that cover them."""
    setting = subject.settings[0]
    component = subject.build(setting).component
    if not hasattr(component, "parameter_roles"):
        raise NotApplicable("it has no parameter_roles")
    own = dict(component.named_parameters()) if subject.is_module else {}
    for name, given in component.parameter_roles().items():
        if name not in own:
            raise CheckFailed(f"a role is given to {name!r}, which it lacks; {nearest(name, own)}")
        listed = (given,) if isinstance(given, ParameterRole) else tuple(given)
        if not all(isinstance(role, ParameterRole) for role in listed):
            raise CheckFailed(f"the role of {name!r} must be a ParameterRole or a list of them")
        rows = len(own[name]) if own[name].ndim else 1
        ranges = [role.rows or (0, rows) for role in listed]
        ends = [0, *(end for _, end in ranges)]
        if [start for start, _ in ranges] != ends[:-1] or ends[-1] != rows:
            raise CheckFailed(
                f"the row ranges of {name!r} must follow each other from 0 to {rows}, not {ranges}"
            )


def declared_roles(
    subject: Subject, setting: Setting
) -> dict[str, tuple[tuple[slice, ParameterRole], ...]]:
    """The roles that a component gives to row ranges of its parameters, by their names."""
    component = subject.build(setting).component
    declare = getattr(component, "parameter_roles", dict)
    found = {}
    for name, given in declare().items():
        listed = (given,) if isinstance(given, ParameterRole) else tuple(given)
        found[name] = tuple(
            (slice(*role.rows) if role.rows else slice(None), role)
            for role in listed
            if isinstance(role, ParameterRole)
        )
    return found


def _shapes(component: object) -> dict[str, tuple[int, ...]]:
    if not isinstance(component, nn.Module):
        return {}
    return {
        name: tuple(tensor.shape)
        for found in (component.named_parameters(), component.named_buffers())
        for name, tensor in found
    }


def _called(
    subject: Subject, setting: Setting, component: nn.Module, made: list[nn.Module]
) -> set[int]:
    """Which of the parts the component calls."""
    called: set[int] = set()
    hooks = [
        part.register_forward_hook(lambda *_, number=number: called.add(number))
        for number, part in enumerate(made)
    ]
    for trial in trials_of(subject, setting):
        trial.run(component, trial.inputs(NAMED, torch.float32))
    for hook in hooks:
        hook.remove()
    return called


def _number(alive: list[tuple[str, nn.Module]], wanted: nn.Module) -> int:
    """Which of its kind, counted from 1."""
    kinds = [kind for kind, _ in alive]
    place = next(number for number, (_, part) in enumerate(alive) if part is wanted)
    return kinds[: place + 1].count(kinds[place])


def _equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and torch.equal(
        one.nan_to_num() if one.is_floating_point() else one,
        other.nan_to_num() if other.is_floating_point() else other,
    )
