"""Which of the installed plugins are loaded, as two environment variables say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from packaging.utils import canonicalize_name

from registry.clashes import BUILTIN
from registry.errors import InvalidSelection, nearest
from registry.spec import Provenance

ONLY = "ABLATIONS_PLUGINS"
NONE = "ABLATIONS_NO_PLUGINS"

_OFF, _ON = ("", "0", "false", "no"), ("1", "true", "yes")


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The plugins that are loaded beside the built-ins, which always are.

    `only` holds names of distributions, or `distribution:entry_point`; None stands for all.
    `by` is the setting as a person gave it, empty where there is none.
    """

    only: tuple[str, ...] | None = None
    by: str = ""

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Selection:
        """What the environment says.

        Raises: InvalidSelection for values that mean nothing, and where one contradicts the other.
        """
        none = environment.get(NONE, "").strip().lower()
        if none not in (*_OFF, *_ON):
            raise InvalidSelection(f"{NONE} is 1 or 0, not {environment[NONE]!r:.80}")
        named = environment.get(ONLY)
        if named is None:
            return cls(only=(), by=f"{NONE}={none}") if none in _ON else cls()
        names = tuple(name.strip() for name in named.split(",") if name.strip())
        if none in _ON:
            raise InvalidSelection(
                f"{ONLY} names plugins to load, and {NONE}={none} keeps all of them out: unset one"
            )
        if not names:
            raise InvalidSelection(
                f"{ONLY} is empty: name plugins, as in {ONLY}=one,another, unset it, or set "
                f"{NONE}=1 for the built-ins alone"
            )
        return cls(only=names, by=f"{ONLY}={','.join(names)}")

    @property
    def none(self) -> bool:
        """Whether all plugins but the built-ins are kept out."""
        return self.only == ()

    def loads(self, plugin: Provenance) -> bool:
        """Whether an installed plugin is loaded."""
        own = _names(plugin)
        return self.only is None or BUILTIN in own or any(_plain(n) in own for n in self.only)

    def check(self, installed: Iterable[Provenance]) -> None:
        """Refuse a name that nothing installed has, one line each. Raises: InvalidSelection."""
        plugins = list(installed)
        known = {name for plugin in plugins for name in _names(plugin)}
        unknown = [name for name in self.only or () if _plain(name) not in known]
        spelled = {plugin.distribution for plugin in plugins}
        if unknown:
            raise InvalidSelection(
                "\n".join(
                    f"{ONLY} names {name!r}, which is not installed; {_hint(name, known, spelled)}"
                    for name in unknown
                )
            )


def _hint(name: str, known: Iterable[str], spelled: Iterable[str]) -> str:
    """The nearest names: of entry points where one is meant, else of distributions."""
    return nearest(name, [k for k in known if ":" in k] if ":" in name else spelled)


def _names(plugin: Provenance) -> tuple[str, str]:
    distribution = canonicalize_name(plugin.distribution)
    return distribution, f"{distribution}:{plugin.entry_point}"


def _plain(name: str) -> str:
    distribution, colon, entry_point = name.partition(":")
    return f"{canonicalize_name(distribution)}{colon}{entry_point}"
