"""Découpe les textes en tokens avec deux processus, puis réunit le tout en un seul fichier mélangé."""
import multiprocessing as mp
import random
import time

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

rng = random.Random(31)
mots = ["".join(rng.choices("aeiourstlnmpdéè", k=rng.randint(2, 7))) for _ in range(300)]
suite = {m: rng.choices(mots, k=3) for m in mots}


def texte(graine):
    r = random.Random(graine)
    m = [r.choice(mots)]
    n = r.randint(300, 420) if graine % 97 == 5 else r.randint(30, 60)
    while len(m) < n:
        m.append(r.choice(suite[m[-1]]))
    return " ".join(m)


def travail(lot):
    tok = PreTrainedTokenizerFast(tokenizer_file="tok.json", model_max_length=256, unk_token="<inconnu>")
    ids = []
    for g in range(lot * 40, lot * 40 + 40):
        ids += tok(texte(g))["input_ids"] + [0]
    time.sleep(0.9)
    np.save(f"lots/lot_{lot:03d}.npy", np.array(ids, dtype=np.uint16))
    return lot, len(ids)


if __name__ == "__main__":
    import os

    os.makedirs("lots", exist_ok=True)
    t = Tokenizer(models.BPE(unk_token="<inconnu>"))
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    t.train_from_iterator((texte(g) for g in range(300)), trainers.BpeTrainer(vocab_size=500, special_tokens=["<fin>", "<inconnu>"], show_progress=False))
    t.save("tok.json")
    with mp.Pool(2) as pool:
        for i, (lot, n) in enumerate(pool.imap(travail, range(60)), 1):
            print(f"[prétraitement] {i}/60 lots, lot {lot} : {n} tokens", flush=True)
    print("[prétraitement] fusion et mélange des lots (cela prend un moment)", flush=True)
    docs = []
    for lot in range(60):
        d = np.load(f"lots/lot_{lot:03d}.npy")
        docs += np.split(d, np.flatnonzero(d == 0) + 1)
        time.sleep(0.45)  # le disque du réseau
    rng.shuffle(docs)
    tout = np.concatenate(docs)
    tout.tofile("corpus.bin")
    print(f"[prétraitement] corpus.bin : {len(tout)} tokens", flush=True)
