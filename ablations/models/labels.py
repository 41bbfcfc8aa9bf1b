"""Values as a person reads them: `gqa(n_kv_heads=2)`, `layers(a, b)`, `true`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ablations.grids.document import show
from ablations.grids.faults import Faulty
from ablations.grids.parsing import scalar
from ablations.models.model import COMPONENT_KINDS
from ablations.models.written import entries, is_layers


def label(key: str, value: Any) -> str:
    """A value of `model`, or of an option where `key` is empty. Raises: Faulty."""
    if is_layers(value) and isinstance(value["layers"], list):
        return f"layers({', '.join(label(key, item) for item in value['layers'])})"
    if key in COMPONENT_KINDS:
        if value is None:
            return "null"
        ((_, name, options),) = entries(key, value)
        return f"{name}({_pairs(options)})" if options else name
    return _pairs(value) if isinstance(value, dict) and value else _text(value)


def level_label(name: str, value: Any) -> str:
    """The label of a factor's level; one that cannot be read is shown."""
    key, dot, _ = name.partition(".")
    try:
        return label("" if dot else key, value)
    except Faulty:
        return show(value)


def _pairs(mapping: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={_text(mapping[key])}" for key in sorted(mapping))


def _text(value: Any) -> str:
    """A scalar as YAML would have it, quoted where it would be read as something else."""
    if isinstance(value, dict):
        return f"{{{_pairs(value)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if not isinstance(value, str):
        return show(value)
    if isinstance(scalar(value), str) and value.isprintable() and not set(value) & set(',=()[]{}"'):
        return value
    return json.dumps(value, ensure_ascii=False)
