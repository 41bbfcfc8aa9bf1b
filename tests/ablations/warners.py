"""A norm that warns at each pass, and the built-ins beside it."""

import warnings

from torch import nn

from registry import Catalog, ComponentSpec, PluginRecord, Provenance, discover

TEXT = "mind <b>the</b>\n\x1b[31mgap $x$"


class Warning(nn.Module):
    """The identity."""

    def __init__(self, dims) -> None:
        super().__init__()

    def forward(self, x):
        warnings.warn(TEXT, RuntimeWarning, stacklevel=1)
        return x


def catalog():
    provenance = Provenance(distribution="warner", version="1.0")
    spec = ComponentSpec(kind="norm", name="warning", target=Warning, provenance=provenance)
    record = PluginRecord(name="warner", version="1.0", state="loaded", specs=(spec,))
    return Catalog([*discover().plugins, record])
