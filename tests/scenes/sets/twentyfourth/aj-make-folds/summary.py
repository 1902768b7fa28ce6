"""Mean over the folds."""
import json
from pathlib import Path

import numpy as np

scores = [json.loads(Path(f"fold{k}.json").read_text())["f1"] for k in range(5)]
print(f"weighted f1 {np.mean(scores):.4f} +- {np.std(scores):.4f} over {len(scores)} folds")
