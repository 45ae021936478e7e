"""`python -m azjax.cli` is `azjax`."""

import sys

from azjax.cli import main

sys.exit(main())
