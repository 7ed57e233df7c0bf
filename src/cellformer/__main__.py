"""``python -m cellformer``, the same as the command ``cellformer``."""

import sys

from cellformer.cli.start import main

if __name__ == "__main__":
    sys.exit(main())
