"""Who gets into a prompt: trust levels and the risk of steps."""
