"""What the measures of one shared pass have in common."""

from __future__ import annotations

from ablations.architecture import Architecture
from ablations.data import files_of
from ablations.observation import PassOptions, pass_bytes, pass_flops
from ablations.sizes import Sized


class OfAPass:
    """A measure that watches a pass; a subclass sets its `options` and measures."""

    options: PassOptions
    keeps_gradients = False
    """Whether the gradients of all parameters are held at once."""

    def convention(self) -> str:
        """What the figures rest on, in words; those of the forward pass on its tokens alone."""
        return f"{self.options.tokens_in_words}, evaluation mode, at initialization"

    def unsupported(self, architecture: Architecture) -> str | None:
        """Why a cell cannot be measured so, told before anything runs."""
        return self.options.unsupported(architecture.context, architecture.vocab_size)

    def flops(self, decoder: Sized) -> float:
        """What one trial computes, for a plan."""
        return pass_flops(decoder, self.options)

    def least_bytes(self, decoder: Sized) -> int:
        """Memory that one trial needs at least, for a plan."""
        return pass_bytes(decoder, self.options, gradients=self.keeps_gradients)

    def files(self) -> list[str]:
        """The text that the figures depend on."""
        return [str(path) for path in files_of(self.options.data)]
