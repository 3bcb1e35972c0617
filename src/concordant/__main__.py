"""``python -m concordant``: the command line without its script."""

from concordant.cli import main

if __name__ == "__main__":
    main()
