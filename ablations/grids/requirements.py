"""Whether the plugins that a grid requires are installed, and in versions that it takes."""

from __future__ import annotations

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

from ablations.grids.document import show
from registry.catalog import Catalog
from registry.errors import nearest


def unmet(text: str, catalog: Catalog) -> str:
    """Why a requirement does not hold; empty when it does."""
    try:
        wanted = Requirement(text)
    except InvalidRequirement:
        return f"expected a plugin and its versions, such as 'my-plugin>=1.2', not {show(text)}"
    if wanted.url or wanted.marker or wanted.extras:
        return f"expected a name and versions alone, such as 'my-plugin>=1.2', not {show(text)}"
    name = canonicalize_name(wanted.name)
    distributions = {record.name.partition(":")[0] for record in catalog.plugins}
    records = [record for record in catalog.plugins if _distribution(record.name) == name]
    for plugin in catalog.left_out:
        if _distribution(plugin.name) == name:
            return f"plugin {plugin.name!r} is left out by {plugin.by}"
    if not records:
        return f"plugin {wanted.name!r} is not installed; {nearest(wanted.name, distributions)}"
    for record in records:
        if record.state == "failed":
            return f"plugin {record.name!r} failed to load: {record.message}"
        try:
            met = wanted.specifier.contains(record.version, prereleases=True)
        except InvalidVersion:
            met = False
        if not met:
            what = f"{record.version} is installed" if record.version else "it has no version"
            return f"needs {text}, but {what}"
    return ""


def _distribution(plugin: str) -> str:
    return canonicalize_name(plugin.partition(":")[0])
