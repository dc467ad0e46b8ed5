"""The agent's side of the loop: what an agent remembers while it runs, and what agents share."""
