"""Writes the corpus as the export of the crawler leaves it."""
import json
import random

random.seed(3)
words = "the model learns from many small documents about ships weather bread and mountains".split()
lines = [json.dumps({"id": i, "text": " ".join(random.choices(words, k=18))}) for i in range(1760)]
# The export was written by two processes into one file for a moment.
lines[930] = lines[930][:40] + lines[931]
with open("corpus.jsonl", "w", encoding="utf-8") as f:
    f.write("\n".join(lines) + "\n")
