"""Set before anything imports scipy: scikit-learn skips its array API check without it."""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")
