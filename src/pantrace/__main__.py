"""`python -m pantrace`."""

from pantrace.cli import main

main()
