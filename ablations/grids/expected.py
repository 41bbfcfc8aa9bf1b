"""Types whose faults are told in words: what was expected, and not what a type checker saw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import GenericAlias
from typing import Any

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, TypeAdapter, ValidationError
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

_OURS = {"expected", "extra_forbidden", "missing"}


@dataclass(frozen=True)
class Expected:
    """Says in words what a value is; a fault of its type or range is told with them.

    `mapping` and `items` are for unions: a mapping, or the items of a list, is validated as they
    say, so that its faults are told where they are and not once for every alternative.
    """

    words: str
    mapping: Callable[[dict[str, Any]], type[BaseModel]] | None = None
    items: Any = None

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """The source's schema, wrapped."""
        return core_schema.no_info_wrap_validator_function(self._validate, handler(source))

    def _validate(self, value: Any, handler: Callable[[Any], Any]) -> Any:
        if isinstance(value, dict) and self.mapping:
            return self.mapping(value).model_validate(value)
        if isinstance(value, list) and value and self.items:
            items: Any = GenericAlias(list, (self.items,))
            return TypeAdapter(items, config=ConfigDict(strict=True)).validate_python(value)
        try:
            return handler(value)
        except ValidationError as error:
            if all(fault["loc"] and fault["type"] in _OURS for fault in error.errors()):
                raise  # told in our words already, where it is
            words = {"words": self.words}
            raise PydanticCustomError("expected", "{words}", words) from None


class Strict(BaseModel):
    """A mapping with these keys alone, of exactly these types."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
