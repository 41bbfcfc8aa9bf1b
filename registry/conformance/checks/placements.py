"""What a placement promises: whether a norm follows, what attention is handed, its gains."""

from __future__ import annotations

import math
from typing import Any

from registry.conformance.errors import CheckFailed, NotApplicable
from registry.conformance.filling import ROLES
from registry.conformance.raising import raised
from registry.conformance.sizes import NAMED
from registry.conformance.subject import Subject
from registry.conformance.trials import trials


def final_norm(subject: Subject) -> None:
    """Says, True or False, whether a norm follows the last block."""
    for setting in subject.settings:
        said = getattr(subject.build(setting).component, "final_norm", None)
        if not isinstance(said, bool):
            raise CheckFailed(f"final_norm must be True or False, not {said!r:.40}")


def mixing(subject: Subject) -> None:
    """Calls its attention, handing on what it is given beside x as it came."""
    for trial in trials(subject):
        built = subject.build(trial.setting)
        alive: list[tuple[str, Any]] = [(kind, made()) for kind, made in built.parts]
        attentions = [made for kind, made in alive if kind == "attention" and made is not None]
        if not attentions:
            raise CheckFailed("it makes no attention: call attention() and keep what it returns")
        for words, given in (("nothing", {}), ("a position and a cache", _tokens())):
            for attention in attentions:
                attention.given.clear()
            x = trial.inputs(NAMED)[0].float()
            try:
                built.component(x, **given)
            except Exception as error:
                raise CheckFailed(
                    f"handed {words} beside x, it {raised(error)}: take **mixing"
                ) from error
            for attention in attentions:
                received = attention.given
                if not received or any(not _same(given, got) for got in received):
                    raise CheckFailed(
                        f"its attention is not handed {words} as it came: call "
                        "self.attention(x, **mixing)"
                    )


def init_gain(subject: Subject) -> None:
    """Gives a positive, finite gain for every role."""
    for setting in subject.main:
        component = subject.build(setting).component
        if not hasattr(component, "init_gain"):
            raise NotApplicable("it states no gains")
        for role in (*ROLES, "a stranger's"):
            try:
                gain = component.init_gain(role)
            except Exception as error:
                raise CheckFailed(
                    f"init_gain({role!r}) {raised(error)}: return 1.0 for a role that it leaves"
                ) from error
            number = isinstance(gain, (int, float)) and not isinstance(gain, bool)
            if not number or not math.isfinite(gain) or gain <= 0:
                raise CheckFailed(
                    f"init_gain({role!r}) must be a positive number, not {gain!r:.40}"
                )


def _tokens() -> dict[str, Any]:
    """Things that are known again."""
    return {"position": object(), "cache": object()}


def _same(given: dict[str, Any], received: dict[str, Any]) -> bool:
    return given.keys() == received.keys() and all(given[key] is received[key] for key in given)
