"""A measure: how large the initial weights are."""

from ablations import Measurement
from registry import MeasureSpec, Metric, hookimpl


class WeightSize:
    """The root of the summed squares of all parameters, to the power that is asked for."""

    def __init__(self, *, power: float = 1.0) -> None:
        self.power = power

    def measure(self, context):
        total = sum(p.detach().square().sum().item() for p in context.decoder().parameters())
        return Measurement(metrics={"total": total ** (self.power / 2)})


@hookimpl
def register_measures():
    return [
        MeasureSpec(
            name="weight_size",
            target=WeightSize,
            mode="observing",
            summary="How large the initial weights are.",
            cost="one pass over the parameters",
            metrics=(Metric(name="total", unit="1", summary="Norm of all weights.", primary=True),),
        )
    ]
