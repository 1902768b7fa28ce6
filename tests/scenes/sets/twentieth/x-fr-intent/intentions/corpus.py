"""Lecture des lots de phrases, un fichier JSONL par lot."""
import json
import random
from pathlib import Path

MOTS = "annuler billet train demain payer carte retard siège bagage gare horaire prix départ retour merci bonjour aide compte".split()


def preparer(dossier: Path, lots: int = 6, phrases: int = 480) -> None:
    dossier.mkdir(exist_ok=True)
    alea = random.Random(2)
    for n in range(lots):
        # lots 4 et suivants : tokeniseur v2
        taille = len(MOTS) + (24 if n >= 4 else 0)
        with (dossier / f"lot_{n:02d}.jsonl").open("w") as f:
            for _ in range(phrases):
                ids = [alea.randrange(taille) for _ in range(8)]
                f.write(json.dumps({"ids": ids, "intention": ids[0] % 5}) + "\n")


def lire(chemin: Path):
    with chemin.open() as f:
        return [json.loads(ligne) for ligne in f]
