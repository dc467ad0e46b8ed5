"""Stage 5, embed: texts to unit vectors. `open_embedder` makes one from its spec."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ufo_experience.errors import UsageError

if TYPE_CHECKING:
    from ufo_experience.embed.base import Embedder
    from ufo_experience.service import Service

LOCAL = ("local", "model2vec")
PLUGINS = "ufo_experience.embedders"  # the group of entry points: another package's name and what makes its embedder
EXAMPLES = (
    "hashing, hashing:2048, openai:text-embedding-3-small, openai:text-embedding-3-large:256, azure:<deployment>, "
    "local:all-MiniLM-L6-v2, model2vec:<folder>"
)


def expect_known(spec: str) -> None:
    """Raise `UsageError` for a spec whose provider nobody knows, before anything is loaded."""
    provider = spec.strip().partition(":")[0]
    if provider not in ("auto", "hashing", "openai", "azure", *LOCAL):
        _plugin(provider, spec)


def open_embedder(spec: str, *, service: Service | None = None) -> Embedder:
    """Make the embedder a spec names: `hashing`, `openai:text-embedding-3-small`, `local:all-MiniLM-L6-v2`, …

    `service` is asked for hosted models (default: the one the environment names). An entry point in the group
    `ufo_experience.embedders` adds its name: what it names is called with the rest of the spec and returns an object
    with `name` and `embed(texts)`. Raises `UsageError` for a spec nobody knows, `ServiceError` where a package lacks.
    """
    provider, _, rest = spec.strip().partition(":")
    if provider == "hashing":
        from ufo_experience.embed.hashing import from_spec as hashing

        return hashing(rest)
    if provider in ("openai", "azure"):
        from ufo_experience.embed.openai import from_spec as hosted

        return hosted(rest, service, "azure" if provider == "azure" else "openai")
    if provider in LOCAL:
        from ufo_experience.embed.local import MODELS

        return MODELS[provider](rest)
    from ufo_experience.embed.base import as_embedder

    return as_embedder(_plugin(provider, spec)(rest))


def _plugin(provider: str, spec: str) -> Any:
    from importlib.metadata import entry_points

    found = {one.name: one for one in entry_points(group=PLUGINS)}
    if provider not in found:
        known = "".join(f", {name}:…" for name in sorted(found))
        raise UsageError(f"unknown embedder {spec!r}; known are: {EXAMPLES}{known}")
    return found[provider].load()
