"""A small agent on the OpenAI API, as an example of a session: `python -m benchmarks.gpt_agent --help`."""
