"""A drop-in for microsoft/UFO: its `ExperienceSummarizer` and `ExperienceRetriever`, over a store of ours.

    from ufo_experience.integrations.ufo import ExperienceSummarizer     # in ufo/module/basic.py
    from ufo_experience.integrations.ufo import ExperienceRetriever      # in ufo/rag/retriever.py

Names, arguments and what comes back are UFO's; the folder UFO calls its vector database is one of our stores. Nothing
here needs torch or langchain, and no pickle is opened. See docs/ufo.md.
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
