"""`python -m ufo_experience` is the command line."""

from ufo_experience.cli import main

main()
