"""``python -m torusgp``: the command ``torusgp``."""

from torusgp.cli import main

if __name__ == "__main__":
    main()
