"""A drop-in for microsoft/UFO: its `ExperienceSummarizer` and `ExperienceRetriever`, over a store of ours.

from ufo_experience.integrations.ufo import ExperienceSummarizer     # in ufo/module/basic.py
from ufo_experience.integrations.ufo import ExperienceRetriever      # in ufo/rag/retriever.py
"""

from ufo_experience.integrations.ufo.classes import ExperienceRetriever, ExperienceSummarizer, PascalCaseRetriever
from ufo_experience.integrations.ufo.documents import Document
from ufo_experience.integrations.ufo.migration import Migration, RagConfig, from_rag_config, migrate

__all__ = [
    "Document",
    "ExperienceRetriever",
    "ExperienceSummarizer",
    "Migration",
    "PascalCaseRetriever",
    "RagConfig",
    "from_rag_config",
    "migrate",
]
