"""`python -m toolhub`, which is the command `toolhub`."""

import sys

from .cli import main

sys.exit(main())
