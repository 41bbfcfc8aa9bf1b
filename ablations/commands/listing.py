"""What there is: components, plugins, and the keys of a grid."""

from __future__ import annotations

from ablations.answers import Answer, answers, as_json_text, say
from ablations.commands.arguments import JsonOption, PluginOption


@answers
def components(as_json: JsonOption = False, plugin: PluginOption = None) -> Answer:
    """List what is registered: kind, name, options, and the plugin that brings it.

    Measures come last, with their cost, needs and metrics; --json lists components alone.

    Example: python -m ablations components
    """
    from ablations.listings import component_documents, component_text, measure_text
    from registry.discovery import discover

    catalog = discover(plugins=plugin or ())
    documents = component_documents(catalog)
    if as_json:
        return Answer(as_json_text(documents))
    return Answer(f"{component_text(documents)}\n\n{measure_text(catalog)}")


@answers
def plugins(as_json: JsonOption = False, plugin: PluginOption = None) -> Answer:
    """List the plugins found, what each registers, and why one did not load.

    ABLATIONS_PLUGINS=name,name loads these alone beside the built-ins, ABLATIONS_NO_PLUGINS=1
    none. What they leave out is listed too, with --json on standard error.

    Example: python -m ablations plugins
    """
    from ablations.listings import left_out_lines, plugin_documents, plugin_text
    from registry.discovery import discover

    catalog = discover(plugins=plugin or ())
    if not as_json:
        return Answer(plugin_text(catalog))
    for line in left_out_lines(catalog):
        say(line)
    return Answer(as_json_text(plugin_documents(catalog)))


@answers
def schema() -> Answer:
    """Print the JSON Schema of grid.yaml, for editors that check and complete it.

    Example: python -m ablations schema > grid.schema.json
    """
    from ablations.grids.schema import json_schema

    return Answer(as_json_text(json_schema()))
