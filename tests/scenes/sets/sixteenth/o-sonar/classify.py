import time

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import SGDClassifier

from pings import survey, unpack

con = Console(width=90, force_terminal=False)
clf = SGDClassifier(loss="log_loss", random_state=0)
rng = np.random.default_rng(21)
con.print("seabed classes: mud, sand, rock")
for line in range(1, 6):
    table = Table(title=f"survey line {line}")
    for name in ("block", "pings", "accuracy"):
        table.add_column(name)
    for block in range(1, 25):
        pairs = [survey(line, rng) for _ in range(16)]
        x = np.stack([unpack(raw) for raw, _ in pairs])
        y = np.array([label for _, label in pairs])
        acc = clf.score(x, y) if block + line > 2 else float("0.333")
        clf.partial_fit(x, y, classes=[0, 1, 2])
        time.sleep(0.6)
        if block % 4 == 0:
            con.print(f"line {line} block {block}/24 accuracy {acc:.3f}")
            table.add_row(str(block), str(block * 16), f"{acc:.3f}")
    con.print(table)
con.print("model ready")
