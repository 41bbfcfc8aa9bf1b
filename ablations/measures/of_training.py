"""What the measures that train have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import torch
from annotated_types import Ge, Lt

from ablations.architecture import Architecture
from ablations.observation import PassOptions, pass_flops
from ablations.sizes import Sized, dtype_of
from ablations.training.loop import Loop, Precision, Regime
from ablations.training.material import Material, Source
from ablations.training.optimizing import unused_options
from ablations.trial import NotApplicable, TrialContext

Beta = Annotated[float, Ge(0), Lt(1)]


class OfTraining:
    """A measure that takes training steps; a subclass sets what they are, and measures.

    `length` None stands for the cell's context, `precision` None for the grid's type.
    """

    source: Source
    length: int | None
    regime: Regime
    precision: Precision | None = None

    def unsupported(self, architecture: Architecture) -> str | None:
        """Why a cell cannot be trained so, told before anything runs."""
        return self.source.unsupported(architecture, self.length)

    def unused(self) -> dict[str, str]:
        """Options that change nothing beside the optimizer that is asked for."""
        return unused_options(self.regime.optimizer)

    def files(self) -> list[str]:
        """The text and the tokenizer that the figures depend on."""
        return self.source.files()

    def step_flops(self, decoder: Sized) -> float:
        """What one step computes."""
        return pass_flops(decoder, PassOptions(batch=self.regime.batch, length=self.length))

    def least_bytes(self, decoder: Sized) -> int:
        """Memory that one trial needs at least."""
        return self.regime.least_bytes(decoder)

    def material(self, architecture: Architecture) -> Material:
        """What a cell is trained on."""
        length = self.length or architecture.context
        return self.source.material(length=length, vocab_size=architecture.vocab_size)

    def loop(self, context: TrialContext, material: Material) -> Loop:
        """A training of the trial's decoder from its initial weights.

        Weights are in float32 or wider; where bfloat16 is asked for, products are in that.

        Raises: NotApplicable in float16.
        """
        asked = dtype_of(self.precision) if self.precision else context.dtype
        if asked == torch.float16:
            raise NotApplicable(
                "training in float16 needs a scaled loss, which is not made here; give the measure "
                "a dtype of its own: bfloat16 or float32"
            )
        return Loop(
            context.fresh_decoder(torch.promote_types(asked, torch.float32)),
            replace(self.regime, autocast=asked == torch.bfloat16),
            material,
            seed=context.seed,
            generator=context.generator,
            checkpoint=context.checkpoint,
        )
