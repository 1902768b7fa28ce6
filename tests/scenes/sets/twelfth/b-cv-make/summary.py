import csv
import glob
import statistics

accs = []
for name in sorted(glob.glob("out/fold*.csv")):
    with open(name) as f:
        rows = list(csv.DictReader(f))
    accs.append(float(rows[-1]["acc"]))
    print(f"{name}: acc {accs[-1]:.3f}")
print(f"cross validation: {statistics.mean(accs):.3f} +- {statistics.stdev(accs):.3f}")
