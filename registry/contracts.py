"""What each kind, a measure and an executor must do.

Shapes: B batch, T tokens, D d_model, H heads, K key/value heads, C head_dim, F hidden width.

A component is a `torch.nn.Module` (an initializer: a plain object) whose constructor takes

    (dims, <makers>, *, <options>)

`dims` is a `Dims`. A *maker* is asked for by naming a positional parameter after a kind: a
parameter called `norm` receives a function that builds one of the model's norms, for `dims.d_model`
features or for the dims given to it. So a feed-forward is `(dims, activation, *, ...)` and a
placement `(dims, attention, feed_forward, residual, norm, *, ...)`. Options are annotated
keyword-only parameters; `**kwargs` is refused, since it would swallow misspelt options.

| kind | forward | may also offer |
|---|---|---|
| norm | (B, T, D) → (B, T, D), each token alone; width `dims.d_model` | |
| activation | (…, F) → (…, F); with `gated = True`: (gate, up) → (…, F) | |
| feed_forward | (B, T, D) → (B, T, D), each token alone | `auxiliary_loss` |
| attention | (B, T, D) → (B, T, D), causal | see `Attention` |
| position | has no forward; any of the hooks of `Position` | `per_layer`, `calibrate` |
| residual | (x, update) → (B, T, D); `dims.layer` tells where | |
| placement | (x, **mixing) → (B, T, D); see `Placement` | `init_gain` |
| initializer | `fill(tensor, info, generator)` | `learning_rate_scale` |

Any of them may offer `parameter_roles()` and a class method `unsupported(dims, model)`, and any
module `auxiliary_loss()`: a scalar of its last forward pass, which training adds to what it
minimizes, as a mixture of experts balances its load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn


@dataclass(frozen=True, kw_only=True)
class Dims:
    """The sizes that a component is built for.

    `n_kv_heads` is what the attention's option of that name says, else `n_heads`. `layer` counts
    the blocks from 0. `d_ff` is the hidden width of the feed-forward, the default rule applied.
    """

    d_model: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    d_ff: int
    context: int
    depth: int
    layer: int = 0
    qkv_bias: bool = True
    out_bias: bool = True
    feed_forward_bias: bool = True
    attention_dropout: float = 0.0

    def resized(self, **sizes: Any) -> Dims:
        """These with other sizes, for a part that a maker is to build.

        As `dataclasses.replace`, but that a plan sees which of the others the part asks for.
        """
        return replace(self, **sizes)


class Maker(Protocol):
    """Builds one more module of the kind that it is named after."""

    def __call__(self, dims: Dims | None = None) -> nn.Module:
        """A fresh module, for the caller's own dims or the ones given."""
        ...


@dataclass(frozen=True, kw_only=True)
class ParameterRole:
    """What a parameter is for; `rows` names a range of a fused one's first dimension.

    A component whose constructor draws at random draws from one stream per component and seed: such
    a value stays the same whatever stands around the component, but not when its own sizes change.

    Common roles: `q`, `k`, `v`, `attention_output`, `gate`, `up`, `down`, `token_embedding`,
    `position_embedding`, `head`, `norm`, `bias`; of the decoder's own, `embedding_projection` and
    `head_projection` too. `initialized` says whether the initializer fills it; by default it fills
    parameters of two or more dimensions, and others keep the value that their constructor gave.
    `gradient=False` says that it may receive no gradient, as the bias of keys that are neither
    rotated nor normed: conformance then asks for none.
    """

    role: str
    rows: tuple[int, int] | None = None
    initialized: bool | None = None
    gradient: bool = True


@dataclass(frozen=True, kw_only=True)
class ParameterInfo:
    """What an initializer knows of the tensor it fills: of a fused parameter, of one range."""

    path: str
    role: str
    shape: tuple[int, ...]
    fan_in: int
    fan_out: int
    depth: int
    layer: int | None
    """None for what lies outside the blocks."""


class HasRoles(Protocol):
    """Optional, for any component."""

    def parameter_roles(self) -> Mapping[str, ParameterRole | Sequence[ParameterRole]]:
        """Roles by the component's own parameter names (`"qkv.weight"`)."""
        ...


class Initializer(Protocol):
    """Fills parameters, each from its own random stream."""

    def fill(self, tensor: Tensor, info: ParameterInfo, generator: torch.Generator) -> None:
        """Fill `tensor` in place from `generator` alone; called without gradients."""
        ...


class ScalesLearningRate(Protocol):
    """Optional, for an initializer."""

    def learning_rate_scale(self, info: ParameterInfo) -> float:
        """A factor on that parameter's learning rate, as of muP (arXiv:2203.03466)."""
        ...


@runtime_checkable
class Cache(Protocol):
    """An attention's state while decoding token by token."""

    @property
    def length(self) -> int:
        """Tokens seen so far."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        ...


class Position(Protocol):
    """The hooks of a position component; it has those that it needs, and may have none.

    `per_layer = True` asks for one module a block (`dims.layer` set) instead of one for all.
    """

    per_layer: bool

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """x (B, T, D) with positions (T,) → (B, T, D), before the first block."""
        ...

    def rotate(self, q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """q (B, H, T, C), k (B, K, T, C) at positions (T,) → the same shapes."""
        ...

    def bias(self, n_heads: int, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """Added to the scaled scores: (H, Tq, Tk)."""
        ...

    def calibrate(self, embedding_rms: float) -> None:
        """Told the root mean square of the scaled token embeddings once they are initialized."""
        ...


class Attention(Protocol):
    """Any causal token mixer.

    A mixer with `position_hooks = True` takes `position`, whose `rotate` and `bias` it applies;
    without, only positions added to the embedding are supported. One that has `new_cache` takes
    `cache`. `attention_dropout = True` says that `dims.attention_dropout` is honoured. `weights`
    and `scores`, both (B, H, T, T), are for those that compare queries with keys.
    """

    position_hooks: bool
    attention_dropout: bool

    def __call__(
        self, x: Tensor, *, position: Position | None = None, cache: Cache | None = None
    ) -> Tensor:
        """x (B, T, D) → (B, T, D)."""
        ...

    def weights(self, x: Tensor, *, position: Position | None = None) -> Tensor:
        """x (B, T, D) → attention probabilities (B, H, T, T)."""
        ...

    def scores(self, x: Tensor, *, position: Position | None = None) -> Tensor:
        """x (B, T, D) → scaled scores before the softmax, −inf where a query may not look."""
        ...

    def new_cache(self) -> Cache:
        """An empty cache; the forward pass extends the one it is given."""
        ...


class Placement(Protocol):
    """Wires a block, and calls its attention as `self.attention(x, **mixing)`, `mixing` as it came.

    It must say in `final_norm`, True or False, whether a norm follows the last block.
    """

    final_norm: bool

    def init_gain(self, role: str) -> float:
        """A factor on the initial weights of that role; 1 leaves them."""
        ...


@dataclass(frozen=True, kw_only=True)
class Execution:
    """How trials are to be carried out.

    `workers` processes with `threads` compute threads each; a trial may take `timeout` seconds and
    use `memory` bytes, with every process that it starts. `gpus` are shared among the workers, each
    of which sees one (`CUDA_VISIBLE_DEVICES`); empty where trials do not compute on any.
    """

    workers: int = 1
    threads: int = 1
    timeout: float | None = None
    memory: int | None = None
    gpus: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one trial: its result, or why there is none."""

    trial: Any
    result: Any = None
    state: Literal["done", "failed", "crashed", "timeout"] = "done"
    message: str = ""
    traceback: str = ""


class Executor(Protocol):
    """Carries trials out, in any order; built without arguments or with options of its own."""

    def execute(
        self,
        trials: Iterable[Any],
        work: Callable[[Any], Any],
        execution: Execution,
    ) -> Iterator[Outcome]:
        """Yield one `Outcome` a trial as it ends; take trials from the iterable as they fit.

        `work` is a picklable function; a trial that raises, dies or hangs costs itself alone.
        `trial.strangers`, where it has that, is the set of packages whose code it runs beside this
        project's: a process that has run any serves no trial with other ones.
        Closing the iterator stops what still runs. `docs/extend.md` says what else it may offer.
        """
        ...


class Measure(Protocol):
    """What is done to a trial; built with its options alone.

    The context offers `skeleton()` (the decoder, shapes only), `decoder()` (with its initial
    weights), `fresh_decoder()` (one more, to change), `baseline_decoder()` (one of the grid's
    baseline cell, for a measure declared `against_baseline`), `observe(...)` (one shared forward
    and backward pass), `seed` (of all that is drawn for this trial), `architecture`,
    `generator(name)` (a random stream of that seed) and `checkpoint`, where a long measure may keep
    how far it got: `save(tensors, state)` when `due`, and `load()` at the start, as a killed trial
    is run again.

    It may also offer `convention()` (a sentence on what its figures rest on),
    `unused() -> Mapping[str, str]` (options that have no effect beside its others, and why: a grid
    that gives one is refused), `unsupported(architecture)` (why a cell cannot be measured so,
    asked before anything runs),
    `flops(decoder)` (what one trial computes, for a plan; called with shapes alone),
    `least_bytes(decoder)` (memory without which one trial cannot be done, never more; called with
    shapes alone, in the grid's type: a trial that cannot fit is not begun) and
    `files() -> Sequence[str | Path]` (files whose content its figures depend on: an edited one is
    measured anew; one that cannot be read is for `unsupported` to refuse).
    """

    def measure(self, context: Any) -> Any:
        """Return an `ablations.Measurement`."""
        ...
