"""A drop-in for microsoft/UFO: its `ExperienceSummarizer` and `ExperienceRetriever`, over a store of ours; docs/ufo.md.

from ufo_experience.integrations.ufo import ExperienceSummarizer     # in ufo/module/basic.py
from ufo_experience.integrations.ufo import ExperienceRetriever      # in ufo/rag/retriever.py
"""

from ufo_experience.integrations.ufo.retrieving import (
    Document,
    ExperienceRetriever,
    PascalCaseRetriever,
    RagConfig,
    from_rag_config,
)
from ufo_experience.integrations.ufo.saving import ExperienceSummarizer

__all__ = ["Document", "ExperienceRetriever", "ExperienceSummarizer", "PascalCaseRetriever"]
__all__ += ["RagConfig", "from_rag_config"]
