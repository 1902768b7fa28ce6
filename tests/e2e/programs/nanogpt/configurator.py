"""Run inside train.py: ``--key=value`` sets a global that is there already."""

import ast
import sys

for word in sys.argv[1:]:
    key, equals, value = word.removeprefix("--").partition("=")
    if not equals or key not in globals():
        raise SystemExit(f"no setting is called {key!r}")
    try:
        globals()[key] = ast.literal_eval(value)
    except (SyntaxError, ValueError):
        globals()[key] = value
