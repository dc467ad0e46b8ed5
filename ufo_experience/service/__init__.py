"""The one way to OpenAI and whatever speaks its language: settings, one retry layer, one breaker, one ledger."""
