import random
random.seed(7)
words = "moin hafen kran schiff wasser kai lotse tide anker boje mole pier".split()
with open("segments.tsv", "w", encoding="utf-8") as f:
    for n in range(1200):
        text = "".join(random.choices(words, k=random.randint(2, 4)))
        frames = len(text) * 4 + random.randint(0, 60)
        if n == 811:      # VAD kept 0.2 s of this call
            frames = 9
            text = "hafenwasserlotse"
        f.write(f"harbour_{n:05d}\t{frames}\t{text}\n")
