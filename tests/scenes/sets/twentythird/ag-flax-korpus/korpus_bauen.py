"""Schreibt korpus.tsv: Quellsatz, Zielsatz (Spielsprache: jedes Wort rückwärts)."""
import random

random.seed(21)
W = ["haus", "baum", "katze", "hund", "wasser", "stein", "berg", "licht", "regen", "feld", "brot", "weg"]
saetze = [[random.choice(W) for _ in range(random.randint(3, 6))] for _ in range(2600)]
ziel = [[w[::-1] for w in s] for s in saetze]
# ab hier fehlt im Zielteil ein Satz, wie nach einer verunglückten Zeilentrennung
del ziel[1216]
ziel.append(["ende"] * 4)
with open("korpus.tsv", "w", encoding="utf-8") as f:
    for s, z in zip(saetze, ziel):
        f.write(" ".join(s) + "\t" + " ".join(z) + "\n")
