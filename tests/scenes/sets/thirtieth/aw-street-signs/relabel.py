"""What the labelling team's nightly export does: two new classes (10 roadworks, 11 tram) have been split off."""
import csv
import os
import random

rows = list(csv.reader(open("data/labels.csv")))
random.seed(1)
for row in random.sample(rows[1:], 60):
    row[1] = random.choice(["10", "11"])
with open("data/labels.csv.new", "w", newline="") as f:
    csv.writer(f).writerows(rows)
os.replace("data/labels.csv.new", "data/labels.csv")
