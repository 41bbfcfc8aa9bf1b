"""The component on trial: its class, its options, and how one is built among stand-ins."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

from registry.conformance.errors import CheckFailed, Refused
from registry.conformance.option_values import required_values
from registry.conformance.raising import raised
from registry.conformance.random_values import randomize
from registry.conformance.sizes import ALL, Sizes, model_sizes
from registry.conformance.standins import stand_in
from registry.contracts import Dims, Maker
from registry.errors import Incompatible
from registry.options import Signature, check_options, signature_of
from registry.spec import Choice, Kind, load_target


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Sizes, and which activation a maker of them makes."""

    sizes: Sizes
    gated: bool = False

    @property
    def words(self) -> str:
        """What is special about it."""
        return "with a gated activation" if self.gated else ""


@dataclass(frozen=True, kw_only=True)
class Built:
    """A component and the parts that its makers made for it; dead ones it gave up."""

    component: Any
    parts: list[tuple[str, weakref.ref[nn.Module]]] = field(default_factory=list)


class Subject:
    """A component on trial, with one set of options."""

    def __init__(
        self,
        kind: Kind,
        target: str | type,
        options: Mapping[str, Any],
        own: Dims | None = None,
    ) -> None:
        self.kind = kind
        self.target = target
        self.options = dict(options)
        self.own = own

    @cached_property
    def cls(self) -> Any:
        """The class. Raises: InvalidSpec when it does not load."""
        return load_target(self.target) if isinstance(self.target, str) else self.target

    @cached_property
    def signature(self) -> Signature:
        """Makers and options. Raises: InvalidSpec when the constructor breaks the contract."""
        return signature_of(self.cls, takes_dims=True)

    @cached_property
    def given(self) -> dict[str, Any]:
        """The options given, and values found for the required ones among the others.

        Raises: CheckFailed when no value of a required option can be found.
        """
        return {**required_values(self.signature, self.options), **self.options}

    @cached_property
    def values(self) -> dict[str, Any]:
        """Every option, the rest at their defaults. Raises: InvalidOptions, InvalidSpec."""
        return check_options(f"{self.kind} {self.cls.__name__!r}", self.signature, self.given)

    def changed(self, changes: Mapping[str, Any]) -> Subject:
        """The same component with other options."""
        return Subject(self.kind, self.cls, {**self.given, **changes}, self.own)

    @property
    def is_module(self) -> bool:
        """Whether it has a forward pass: all but initializers."""
        return self.kind is not Kind.INITIALIZER

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """Those that the component takes, the preferred first.

        Raises: CheckFailed when it refuses all of them, or cannot be built.
        """
        taken: list[Setting] = []
        refusals = []
        gates = (False, True) if "activation" in self.signature.makers else (False,)
        for sizes in (*ALL, *([model_sizes(self.own)] if self.own else [])):
            if sizes not in ALL and taken:
                break
            for gated in gates:
                setting = Setting(sizes=sizes, gated=gated)
                try:
                    self.build(setting)
                except Refused as refusal:
                    refusals.append(str(refusal))
                else:
                    taken.append(setting)
        if not taken:
            reasons = "; ".join(dict.fromkeys(refusals))
            raise CheckFailed(
                f"no sizes are accepted: {reasons}: serve one of "
                f"{', '.join(f'({sizes.label})' for sizes in ALL)}"
            )
        return tuple(taken)

    @property
    def main(self) -> tuple[Setting, ...]:
        """The settings of the preferred sizes, one for each form of activation that it takes."""
        sizes = self.settings[0].sizes
        return tuple(setting for setting in self.settings if setting.sizes is sizes)

    def dims(self, setting: Setting, **sizes: Any) -> Dims:
        """The dims of a setting, or other `sizes`, with as many key/value heads as options ask."""
        own = replace(setting.sizes.dims, **sizes)
        return replace(own, n_kv_heads=self.values.get("n_kv_heads", own.n_heads))

    def build(self, setting: Setting, *, seed: int = 0, **sizes: Any) -> Built:
        """Build one, with other `sizes` of `Dims` if given, under torch's global generator seeded.

        Raises: Refused, CheckFailed.
        """
        own = self.dims(setting, **sizes)
        parts: list[tuple[str, weakref.ref[nn.Module]]] = []

        def maker(kind: str) -> Maker:
            def make(dims: Dims | None = None) -> nn.Module:
                made = stand_in(kind, dims or own, gated=setting.gated)
                parts.append((kind, weakref.ref(made)))
                return made

            return make

        try:
            unsupported = getattr(self.cls, "unsupported", None)
            reason = unsupported(own, _model(own)) if unsupported else None
            if reason:
                raise Refused(str(reason))
            torch.default_generator.manual_seed(seed)
            component = self.cls(own, *map(maker, self.signature.makers), **self.values)
        except Refused:
            raise
        except Incompatible as error:
            raise Refused(str(error)) from error
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a stranger's constructor may even call sys.exit
            raise CheckFailed(
                f"the constructor {raised(error)}: for what it cannot serve it may raise "
                "registry.Incompatible"
            ) from error
        if self.is_module and not isinstance(component, nn.Module):
            raise CheckFailed(f"a {self.kind} must be a torch.nn.Module: derive the class from it")
        return Built(component=component, parts=parts)

    def module(
        self,
        setting: Setting,
        dtype: torch.dtype = torch.float64,
        *,
        training: bool = False,
        seed: int = 0,
        **sizes: Any,
    ) -> nn.Module:
        """One with every parameter random, in evaluation mode unless it is to be trained."""
        built = self.build(setting, seed=seed, **sizes)
        module: nn.Module = built.component
        randomize(module, seed)
        module.to(dtype)
        module.train(training)
        return module


def _model(dims: Dims) -> Any:
    """What `unsupported` is told of the model: one of stand-ins."""
    parts = {
        kind.value: Choice(name="stand_in", target=f"{stand_in.__module__}:{kind.title()}")
        for kind in Kind
        if kind is not Kind.INITIALIZER
    }
    layer = SimpleNamespace(**parts, d_ff=dims.d_ff)
    return SimpleNamespace(
        d_model=dims.d_model,
        n_heads=dims.n_heads,
        head_dim=dims.head_dim,
        context=dims.context,
        vocab_size=256,
        depth=dims.depth,
        layers=(layer,) * dims.depth,
        initializer=Choice(name="stand_in", target=""),
        embedding_norm=None,
        embedding_scale=1.0,
        embedding_dim=None,
        final_norm=None,
        qkv_bias=dims.qkv_bias,
        out_bias=dims.out_bias,
        feed_forward_bias=dims.feed_forward_bias,
        head_bias=False,
        tie_embeddings=False,
        logit_scale=1.0,
        logit_softcap=None,
        attention_dropout=dims.attention_dropout,
        residual_dropout=0.0,
        share_layers=1,
    )
