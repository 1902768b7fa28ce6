import glob
import json

for f in sorted(glob.glob("runs/*.json"), key=lambda f: json.load(open(f))["params"]):
    d = json.load(open(f))
    print(f"{f:16s} {d['params']:>10,} params   val {d['val']:.4f}")
