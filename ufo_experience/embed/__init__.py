"""Stage 5, embed: texts to unit vectors. `open_embedder` makes one from its spec."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ufo_experience.errors import UsageError

if TYPE_CHECKING:
    from ufo_experience.embed.base import Embedder
    from ufo_experience.service.client import OpenAISettings

CACHE_FILE = "embeddings.sqlite"  # in the cache folder of a store
VERDICTS_FILE = "verdicts.sqlite"  # beside it: what a judge said, kept in the same form
PROVIDERS = {
    "hashing": ("ufo_experience.embed.hashing", "HashingEmbedder"),
    "openai": ("ufo_experience.embed.openai", "OpenAIEmbedder"),
    "azure": ("ufo_experience.embed.openai", "AzureEmbedder"),
    "local": ("ufo_experience.embed.local", "LocalEmbedder"),
    "fastembed": ("ufo_experience.embed.local", "FastEmbedder"),
    "model2vec": ("ufo_experience.embed.local", "StaticEmbedder"),
}
EXAMPLES = (
    "hashing, hashing:2048, openai:text-embedding-3-small, openai:text-embedding-3-large:256, azure:<deployment>, "
    "local:all-MiniLM-L6-v2, fastembed:<name>, model2vec:<folder>"
)


def open_embedder(spec: str, *, settings: OpenAISettings | None = None, cache: Path | None = None) -> Embedder:
    """Make the embedder a spec names: `hashing`, `openai:text-embedding-3-small`, `local:all-MiniLM-L6-v2`, …

    `settings` reach the OpenAI service (default: the environment). `cache` is the file of an `EmbeddingCache` to put
    in front; hashing is quicker than a cache and goes without.

    Raises:
        UsageError: nobody knows this spec.
        MissingExtraError: the provider's package is not installed.
    """
    provider, _, rest = spec.strip().partition(":")
    if provider not in PROVIDERS:
        raise UsageError(f"unknown embedder {spec!r}; known are: {EXAMPLES}")
    module, name = PROVIDERS[provider]
    embedder: Embedder = getattr(import_module(module), name).from_spec(rest, settings)
    if cache is None or provider == "hashing":
        return embedder
    from ufo_experience.embed.cache import CachedEmbedder, EmbeddingCache

    return CachedEmbedder(embedder, EmbeddingCache(cache))
