import json
from pathlib import Path

print("T,seed,test_nll")
for path in sorted(Path("results").glob("*.json")):
    row = json.loads(path.read_text())
    print(f"{row['T']},{row['seed']},{row['test_nll']:.4f}")
