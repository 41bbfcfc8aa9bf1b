"""What `training` says of itself."""

from __future__ import annotations

from ablations.declared.profiles import along_depth
from registry import MeasureSpec, Metric, Profile

_TENTH = "mean over the last tenth of the steps"


def _state(name: str, better: str, summary: str, *, primary: bool = False) -> Metric:
    return Metric(
        name=name,
        unit="share of trials",
        better=better,  # type: ignore[arg-type]
        primary=primary,
        summary=summary,
        defined_when_diverged=True,
    )


def _loss(name: str, summary: str, convention: str = "", *, primary: bool = False) -> Metric:
    return Metric(
        name=name,
        unit="nats",
        better="lower",
        primary=primary,
        summary=summary,
        convention=convention,
    )


def _curve(name: str, unit: str, summary: str, convention: str = "") -> Profile:
    return Profile(name=name, unit=unit, axis="step", summary=summary, convention=convention)


TRAINING = MeasureSpec(
    name="training",
    target="ablations.measures.training:Training",
    mode="running",
    summary="Next-token training: whether a cell learns, how far and how steadily.",
    cost="steps × one forward and backward pass: seconds to hours",
    needs="nothing; the largest attention logit an attention with `scores`",
    metrics=(
        _loss("final_loss", "Training loss at the end.", _TENTH, primary=True),
        _loss(
            "held_out_loss",
            "Loss at the end on sequences that are not trained on.",
            "the same sequences for every cell; mean of the evaluations in the last tenth",
            primary=True,
        ),
        Metric(
            name="accuracy",
            unit="share of answers",
            better="higher",
            primary=True,
            summary="Held-out accuracy at the end; of synthetic tasks alone.",
        ),
        _state(
            "learnt",
            "higher",
            "1 where the model learnt more than frequencies, or than chance, else 0.",
            primary=True,
        ),
        _state("stalled", "lower", "1 where it ran to the end and did not learn, else 0."),
        _state("diverged", "lower", "1 where a loss, gradient or update was not finite, else 0."),
        Metric(
            name="initial_loss",
            unit="nats",
            summary="Loss of the first batch, before any update.",
            defined_when_diverged=True,
        ),
        Metric(
            name="frequency_loss",
            unit="nats",
            summary="What the same targets cost a model that knows frequencies alone.",
            convention=_TENTH,
        ),
        _loss("best_loss", "Lowest training loss.", "mean over any tenth of the steps in a row"),
        _loss("mean_loss", "Area under the loss curve.", "mean over all steps"),
        Metric(
            name="steps_to_loss",
            unit="steps",
            better="lower",
            summary="Steps until the training loss is down to the target.",
            convention=(
                "mean over a tenth of the steps in a row; infinite where it never is; target_loss, "
                "by default halfway between the unigram and the bigram entropy"
            ),
            may_be_infinite=True,
            defined_when_diverged=True,
        ),
        Metric(
            name="loss_spikes",
            unit="spikes",
            better="lower",
            summary="How often the loss jumps.",
            convention=(
                "above the mean of the tenth of the steps before, by 7 of its standard deviations"
            ),
        ),
        Metric(
            name="largest_gradient_norm",
            unit="gradient norm",
            scale="log",
            summary="Largest norm of the whole gradient, before clipping.",
        ),
        Metric(
            name="largest_update",
            unit="ratio",
            scale="log",
            summary="Largest update of a step, relative to the parameters.",
            convention="‖Δθ‖ / ‖θ‖ over all parameters",
        ),
        Metric(
            name="tokens_per_second",
            unit="tokens/s",
            better="higher",
            summary="Tokens trained on a second, evaluations apart.",
            convention="depends on what else the machine did: never compared",
            compared=False,
        ),
    ),
    profiles=(
        _curve(
            "loss",
            "nats",
            "Training loss of each step's batch.",
            "of long trainings means over as many steps as makes 200 points; a diverged one up to "
            "its last finite value",
        ),
        _curve("gradient_norm", "gradient norm", "Norm of the whole gradient, before clipping."),
        _curve("held_out_loss", "nats", "Loss on sequences that are not trained on."),
        _curve("held_out_accuracy", "share of answers", "Held-out accuracy, of synthetic tasks."),
        _curve(
            "largest_attention_logit",
            "scaled score",
            "Largest score of any attention, on two held-out sequences.",
        ),
        _curve(
            "sensitivity_ratio",
            "ratio",
            "Sensitivity entering the first block over the last one's, at the probed steps.",
        ),
        along_depth(
            "sensitivity",
            "rms(x)·‖∂L/∂x‖",
            "Sensitivity of the stream entering each block, at the probed steps.",
            scale="log",
        ),
        along_depth(
            "stream_rms",
            "root mean square",
            "Size of the stream entering each block, and leaving the last, at the probed steps.",
            scale="log",
        ),
        along_depth(
            "token_similarity",
            "cosine",
            "How alike tokens are, as in signal_propagation, at the probed steps.",
        ),
        *(
            along_depth(
                f"{sublayer}_update",
                "ratio",
                f"Size of each {sublayer.replace('_', '-')}'s update relative to its stream, at "
                "the probed steps.",
                scale="log",
            )
            for sublayer in ("attention", "feed_forward")
        ),
    ),
)
