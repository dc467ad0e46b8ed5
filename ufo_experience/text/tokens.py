"""How many tokens a text may be, without a tokenizer: an estimate for budgets and limits."""

from __future__ import annotations

import math


def estimate_tokens(text: str) -> int:
    """Tokens of `text`, estimated high: a third of its UTF-8 bytes, digits and escapes dearer.

    On blocks of English and Chinese records this is 1.07 to 1.4 times what OpenAI's cl100k and o200k encodings
    count. Texts of nothing but emoji, numbers or single letters may be under-estimated: pass a real counter then.
    """
    weight = len(text.encode("utf-8", "surrogatepass")) + sum(map(text.count, "0123456789")) + 2 * text.count("\\")
    return math.ceil(weight / 3)


def cut_to_tokens(text: str, limit: int) -> str:
    """The longest beginning of `text` (to about a hundredth) that `estimate_tokens` takes for at most `limit`."""
    while (tokens := estimate_tokens(text)) > limit:
        text = text[: int(len(text) * limit / tokens * 0.995)]
    return text
