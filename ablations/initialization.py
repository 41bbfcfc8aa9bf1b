"""Initial values: one random stream per (seed, parameter path), q, k and v apart.

Swapping a component therefore leaves every other parameter bit-identical, and no result depends
on the order in which modules were built, on a worker or on a process.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ablations.architecture import Architecture
from ablations.assembly import Part
from ablations.decoder import Decoder, build_decoder
from ablations.strangers import is_ours
from ablations.streams import generator_of, global_stream, stream_seed
from ablations.undrawn import lacks_memory
from ablations.weight_bank import WeightBank
from registry.contracts import ParameterInfo, ParameterRole
from registry.errors import InvalidSpec

OWN_ROLES = {
    "token_embedding.weight": ParameterRole(role="token_embedding"),
    "embedding_projection.weight": ParameterRole(role="embedding_projection"),
    "head_projection.weight": ParameterRole(role="head_projection"),
    "head.weight": ParameterRole(role="head"),
    "head.bias": ParameterRole(role="bias"),
}


@dataclass(frozen=True, kw_only=True)
class Slice:
    """A parameter, or a row range of a fused one, with what is known of it."""

    parameter: nn.Parameter
    rows: slice
    info: ParameterInfo
    stream: str
    initialized: bool
    part: Part | None
    ours: bool
    """Whether every part that holds it is this project's, that which holds it most closely and
    those around it; the decoder's own embeddings and head are held by none."""

    @property
    def drawn_by_ours(self) -> bool:
        """Whether the initializer gives it its values, and no code of a stranger changes them."""
        return self.initialized and self.ours

    @property
    def block(self) -> int | None:
        """Which of the blocks with weights of their own holds it; None outside the blocks."""
        if self.part is None or self.part.layer is None:
            return None
        return int(self.part.slot.split(".")[1])

    @property
    def numel(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.info.shape)

    @property
    def tensor(self) -> Tensor:
        """The view on the parameter's values."""
        whole = self.parameter.detach()
        return whole[self.rows] if whole.ndim else whole


def slices(decoder: Decoder) -> Iterator[Slice]:
    """Every unique parameter of a decoder, fused ones by their ranges.

    Raises: InvalidSpec when a component names a parameter that it has not, or ranges that do not
    cover one.
    """
    parts = {part.path: part for part in decoder.parts}
    roles = {part.path: _declared_roles(part, module) for part, module in decoder.with_modules()}
    drawn: Counter[str] = Counter()
    theirs = tuple(f"{part.path}." for part in decoder.parts if not part.ours)
    for path, parameter in decoder.named_parameters():
        part = _innermost(parts, path)
        local = path[len(part.path) + 1 :] if part else path
        declared = roles[part.path].get(local, ()) if part else (OWN_ROLES[path],)
        for role in declared or (_default_role(part, local),):
            stream = _stream(part.slot if part else "", local, role)
            # A second range of one role, as of heads apart, has a stream of its own.
            name = f"{stream}.{drawn[stream]}" if drawn[stream] else stream
            drawn[stream] += 1
            ours = not path.startswith(theirs)
            yield _slice(decoder, path, name, parameter, part, role, ours)


def initialize(
    decoder: Decoder,
    seed: int,
    bank: WeightBank | None = None,
    pieces: Sequence[Slice] | None = None,
) -> None:
    """Give every parameter its initial value for that seed, in place, in float32.

    Parameters of two or more dimensions are filled by the initializer (a component's
    `parameter_roles` may say otherwise) and scaled by the placement's gain; the others keep the
    value that their constructor gave. Values that a `bank` holds are shared with it. `pieces` are
    the decoder's `slices`, where they are at hand.
    """
    choice = decoder.architecture.initializer
    initializer = choice.load()(decoder.architecture.dims(), **choice.options)
    # What a stranger's initializer draws may depend on more than a key can hold.
    shared = bank if bank is not None and bank.bound and is_ours(choice.target) else None
    drawn_by = (seed, choice.target, repr(vars(initializer)))
    with torch.no_grad(), global_stream(seed, "initializer"):
        for parameter, ranges in _by_parameter(pieces or slices(decoder)):
            gains = [_gain(decoder, piece) for piece in ranges]
            key: tuple[Hashable, ...] | None = None
            if shared is not None and all(piece.drawn_by_ours for piece in ranges):
                of = ((p.stream, p.info, gain) for p, gain in zip(ranges, gains, strict=True))
                key = (drawn_by, parameter.device, *of)
                held = shared.get(key)
                if held is not None:
                    parameter.data = held
                    continue
            if lacks_memory(parameter) and all(piece.initialized for piece in ranges):
                parameter.data = torch.empty(
                    parameter.shape, dtype=parameter.dtype, device=parameter.device
                )
            for piece, gain in zip(ranges, gains, strict=True):
                if piece.initialized:
                    _fill(initializer, piece, seed, gain)
            if shared is not None and key is not None:
                shared.keep(key, parameter.detach())
        _calibrate_positions(decoder)


def _by_parameter(pieces: Iterable[Slice]) -> list[tuple[nn.Parameter, list[Slice]]]:
    """Every unique parameter and its slices."""
    found: dict[nn.Parameter, list[Slice]] = {}
    for piece in pieces:
        found.setdefault(piece.parameter, []).append(piece)
    return list(found.items())


def _fill(initializer: Any, piece: Slice, seed: int, gain: float) -> None:
    # For an initializer that draws from the global generator, against its contract.
    torch.default_generator.manual_seed(stream_seed(seed, f"{piece.stream}/global"))
    tensor = piece.tensor
    initializer.fill(tensor, piece.info, generator_of(seed, piece.stream))
    if gain != 1:
        tensor.mul_(gain)


def initialized_decoder(
    architecture: Architecture,
    seed: int,
    *,
    dtype: torch.dtype = torch.float32,
    bank: WeightBank | None = None,
) -> Decoder:
    """A decoder with its initial weights, drawn in float32 and then cast to `dtype`.

    With a `bank` its weights may be those of other decoders too, and must not be changed.

    Raises: Incompatible when parts do not fit each other or the sizes.
    """
    decoder = build_decoder(architecture, seed=seed)
    initialize(decoder, seed, bank)
    return decoder if dtype is torch.float32 else decoder.to(dtype)


def _declared_roles(part: Part, module: nn.Module) -> dict[str, tuple[ParameterRole, ...]]:
    declare = getattr(module, "parameter_roles", None)
    if declare is None:
        return {}
    own = dict(module.named_parameters())
    declared: dict[str, tuple[ParameterRole, ...]] = {}
    for name, given in declare().items():
        roles: Sequence[ParameterRole] = (given,) if isinstance(given, ParameterRole) else given
        if name not in own:
            raise InvalidSpec(f"{part.kind} {part.name!r} gives a role to {name!r}, which it lacks")
        rows = len(own[name]) if own[name].ndim else 1
        ranges = [role.rows or (0, rows) for role in roles]
        ends = [0, *(end for _, end in ranges)]
        if [start for start, _ in ranges] != ends[:-1] or ends[-1] != rows:
            raise InvalidSpec(
                f"the row ranges of {name!r} of {part.kind} {part.name!r} must follow each other "
                f"from 0 to {rows}, not {ranges}"
            )
        declared[name] = tuple(roles)
    return declared


def _innermost(parts: dict[str, Part], path: str) -> Part | None:
    """The component that holds a parameter most closely; None for the decoder's own."""
    while "." in path:
        path = path.rpartition(".")[0]
        if path in parts:
            return parts[path]
    return None


def _default_role(part: Part | None, local: str) -> ParameterRole:
    assert part is not None, "the decoder's own parameters are all named"
    return ParameterRole(role="bias" if local.rpartition(".")[2] == "bias" else part.kind)


def _slice(
    decoder: Decoder,
    path: str,
    stream: str,
    parameter: nn.Parameter,
    part: Part | None,
    role: ParameterRole,
    ours: bool,
) -> Slice:
    rows = slice(*role.rows) if role.rows else slice(None)
    shape = tuple(parameter.shape)
    if role.rows:
        shape = (role.rows[1] - role.rows[0], *shape[1:])
    receptive = math.prod(shape[2:])
    initialized = role.initialized if role.initialized is not None else len(shape) >= 2
    return Slice(
        parameter=parameter,
        rows=rows,
        info=ParameterInfo(
            path=path,
            role=role.role,
            shape=shape,
            fan_in=(shape[1] if len(shape) > 1 else 1) * receptive,
            fan_out=(shape[0] if shape else 1) * receptive,
            depth=decoder.architecture.depth,
            layer=part.layer if part else None,
        ),
        stream=stream,
        initialized=initialized,
        part=part,
        ours=ours,
    )


def _stream(slot: str, local: str, role: ParameterRole) -> str:
    """`blocks.3.attention.q.weight` for the rows of q in `blocks.3.attention.qkv.weight`."""
    if role.rows:
        owner, _, leaf = local.rpartition(".")
        local = ".".join(filter(None, [owner.rpartition(".")[0], role.role, leaf]))
    return f"{slot}.{local}" if slot else local


def _gain(decoder: Decoder, piece: Slice) -> float:
    if piece.part is None or piece.part.layer is None:
        return 1.0
    block = decoder.block(piece.part.layer)
    init_gain = getattr(block, "init_gain", None)
    return float(init_gain(piece.info.role)) if init_gain else 1.0


def _calibrate_positions(decoder: Decoder) -> None:
    """Tell the positions how large the scaled token embeddings came out."""
    weight = decoder.token_embedding.weight
    if decoder.embedding_projection is None:
        rms = float(weight.double().square().mean().sqrt()) * decoder.architecture.embedding_scale
    else:
        rms = float(decoder.scaled(weight).double().square().mean().sqrt())
    for position in decoder.positions:
        calibrate = getattr(position, "calibrate", None)
        if calibrate is not None:
            calibrate(rms)
