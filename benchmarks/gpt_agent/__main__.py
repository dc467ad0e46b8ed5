"""`python -m benchmarks.gpt_agent`."""

import sys

from benchmarks.gpt_agent.agent import main

sys.exit(main())
