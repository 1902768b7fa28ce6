"""Run inside train.py: a word is a file of settings, ``--key=value`` sets a global that is there."""

import ast
import sys
from pathlib import Path

for word in sys.argv[1:]:
    key, equals, value = word.removeprefix("--").partition("=")
    if not equals:
        config_file = word
        exec(Path(config_file).read_text(encoding="utf-8"))  # noqa: S102  (as nanoGPT does)
        continue
    if key not in globals():
        raise SystemExit(f"no setting is called {key!r}")
    try:
        globals()[key] = ast.literal_eval(value)
    except (SyntaxError, ValueError):
        globals()[key] = value
