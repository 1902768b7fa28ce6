import random

random.seed(12)
WORDS = "zeit raum licht ton klang wort satz laut".split()
with open("manifest.tsv", "w") as f:
    for i in range(1600):
        dur = f"{random.uniform(1.0, 6.0):.2f}"
        if i >= 1040 and i % 16 == 5 and i < 1040 + 7 * 16:
            dur = dur.replace(".", ",")  # rows of the second annotator's spreadsheet
        f.write(f"utt{i:05d}\t{dur}\t{' '.join(random.choices(WORDS, k=5))}\n")
