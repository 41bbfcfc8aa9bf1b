"""Whether a token's output depends on itself and earlier ones alone."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from registry.conformance.checks.comparing import TINY, near, same_bits
from registry.conformance.errors import CheckFailed, NotApplicable
from registry.conformance.global_state import seed_all
from registry.conformance.random_values import normal
from registry.conformance.sizes import NAMED, TOKENS
from registry.conformance.stages import scrambled
from registry.conformance.subject import Subject
from registry.conformance.trials import Trial, cuts, trials
from registry.spec import Kind

LENGTHS = TOKENS[1:]
"""One token has no future."""

BATCH = 2


def causality(subject: Subject) -> None:
    """No token depends on a later one, in value or by gradient, in evaluation or in training.

    The outputs up to a token must be equal to the bit when all later tokens, or one alone, are
    others. What cannot be, as a long convolution by Fourier transforms, must be equal in float64
    but for 1e-9 of its size. The gradient by later tokens must be zero, to the same tolerance.
    """
    for trial in trials(subject, fed=True):
        _expect_steady(trial)
        for training in (False, True):
            for tokens in LENGTHS:
                _perturb(trial, tokens, training=training)
        _differentiate(trial)


def prefix(subject: Subject) -> None:
    """The first tokens alone give what they give with others after them."""
    for trial in trials(subject, fed=True):
        module, longest = trial.module(), TOKENS[-1]
        full = trial.inputs(longest)
        with torch.no_grad():
            outputs = trial.run(module, full)
            for tokens in TOKENS[:-1]:
                alone = trial.run(module, _first(trial, full, tokens))
                if not near(alone, _past(trial, outputs, tokens)):
                    raise CheckFailed(
                        f"the first {tokens} of {longest} tokens give other outputs alone than "
                        f"before others{trial.words}: let no token depend on how many follow"
                        f"{hint(trial)}"
                    )


def mixes_tokens(subject: Subject) -> None:
    """Some earlier token matters to the last one."""
    for trial in trials(subject, fed=True):
        (x,) = trial.inputs(LENGTHS[-1], batch=BATCH)
        x.requires_grad_()
        (y,) = trial.run(trial.module(), (x,))
        found = torch.autograd.grad(y[:, -1].square().sum(), x, allow_unused=True)[0]
        if found is None or float(found[:, :-1].abs().max()) == 0.0:
            raise CheckFailed(
                f"the last token depends on no earlier one{trial.words}: an attention mixes tokens"
                f"{hint(trial)}"
            )


def hint(trial: Trial) -> str:
    """A stage at which tokens are mixed by mistake, if one can be seen."""
    module, inputs = trial.module(torch.float32), trial.inputs(NAMED, torch.float32)
    with torch.no_grad():
        recorder = trial.record(module, inputs)
    attention = trial.subject.kind is Kind.ATTENTION
    found = scrambled(recorder, trial.names(NAMED), attention=attention)
    return f"; {found}" if found else ""


def _expect_steady(trial: Trial) -> None:
    """Raises: NotApplicable where passes differ by themselves."""
    inputs = trial.inputs(NAMED)
    one, other = (_outputs(trial, trial.module(), inputs) for _ in range(2))
    if not same_bits(one, other):
        raise NotApplicable(
            "two passes over one input differ, even with equal seeds, so that nothing can be told"
        )


def _perturb(trial: Trial, tokens: int, *, training: bool) -> None:
    inputs = trial.inputs(tokens, torch.float32, batch=BATCH)
    module = trial.module(torch.float32, training=training)
    before = _outputs(trial, module, inputs)
    for last in cuts(tokens):
        # All later tokens, and one alone: a sum over them could hide a difference.
        for changed in ((slice(last + 1, None), "those after them"), (slice(-1, None), "the last")):
            after = _outputs(trial, module, _changed(trial, inputs, changed[0]))
            if same_bits(_past(trial, before, last + 1), _past(trial, after, last + 1)):
                continue
            if not _same_in_double(trial, tokens, last, changed[0], training=training):
                told = "token 0" if last == 0 else f"tokens 0 to {last}"
                mode = " in training mode" if training else ""
                raise CheckFailed(
                    f"the outputs of {told} of {tokens} change with {changed[1]}{mode}"
                    f"{trial.words}: a token may depend on itself and earlier ones alone"
                    f"{hint(trial)}"
                )


def _same_in_double(
    trial: Trial, tokens: int, last: int, changed: slice, *, training: bool
) -> bool:
    inputs = trial.inputs(tokens, batch=BATCH)
    one, other = (
        _outputs(trial, trial.module(training=training), given)
        for given in (inputs, _changed(trial, inputs, changed))
    )
    return near(_past(trial, one, last + 1), _past(trial, other, last + 1))


@torch.no_grad()
def _outputs(trial: Trial, module: nn.Module, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    seed_all(1)  # equal masks of dropout
    return trial.run(module, inputs)


def _differentiate(trial: Trial) -> None:
    inputs = [x.requires_grad_() for x in trial.inputs(NAMED)]
    outputs = trial.run(trial.module(), inputs)
    for last in cuts(NAMED):
        past = [y for y in _past(trial, outputs, last + 1) if y.requires_grad]
        if not past:
            return
        loss = sum((y * normal(y.shape, f"weights {last}")).sum() for y in past)
        assert isinstance(loss, Tensor)
        found = torch.autograd.grad(loss, inputs, retain_graph=True, materialize_grads=True)
        for gradient, dim in zip(found, trial.token_dims(), strict=True):
            future = gradient.narrow(dim, last + 1, NAMED - last - 1)
            if float(future.abs().max()) > TINY * float(gradient.abs().max()):
                told = "token 0" if last == 0 else f"tokens 0 to {last}"
                raise CheckFailed(
                    f"the gradient of the outputs of {told} of {NAMED} reaches later tokens"
                    f"{trial.words}: a token may depend on itself and earlier ones alone"
                    f"{hint(trial)}"
                )


def _changed(trial: Trial, inputs: Sequence[Tensor], where: slice) -> list[Tensor]:
    """The inputs with other tokens there, three times as large."""
    changed = []
    for number, (x, dim) in enumerate(zip(inputs, trial.token_dims(), strict=True)):
        x = x.clone()
        part = x.transpose(0, dim)[where]
        part.copy_(3 * normal(part.shape, f"other {number}", dtype=x.dtype))
        changed.append(x)
    return changed


def _first(trial: Trial, inputs: Sequence[Tensor], tokens: int) -> list[Tensor]:
    pairs = zip(inputs, trial.token_dims(), strict=True)
    return [x.narrow(dim, 0, tokens).contiguous() for x, dim in pairs]


def _past(trial: Trial, outputs: Sequence[Tensor], tokens: int) -> list[Tensor]:
    dims = [shape.index("T") for shape in trial.call.outputs]
    return [y.narrow(dim, 0, tokens) for y, dim in zip(outputs, dims, strict=True)]
