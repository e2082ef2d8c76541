"""`pantrace`, and `python -m pantrace`."""

import sys


def main() -> None:
    """Run the command line. Ctrl-C while it is still being loaded is no traceback either."""
    try:
        from pantrace.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
