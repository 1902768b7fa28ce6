"""Liest die Rohdaten, wirft Doppeltes und Kaputtes weg, lernt den Tokenizer und schreibt die Schnipsel."""
import hashlib
import json
import os
import random
import time

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from corpus import text

PAUSE = float(os.environ.get("PAUSE", 1.1))
r = random.Random(3)
os.makedirs("roh", exist_ok=True)
absaetze = text(1_200_000, 5).split("\n\n")
for i in range(24):
    with open(f"roh/teil_{i:03d}.jsonl", "w") as f:
        for p in absaetze[i::24]:
            z = json.dumps({"text": p})
            f.write((z[: len(z) // 2] if r.random() < 0.004 else z) + "\n")
            if r.random() < 0.1:
                f.write(z + "\n")
print(f"{time.strftime('%d.%m.%Y %H:%M:%S')} 24 Rohdateien gefunden", flush=True)
gesehen, gut, kaputt, doppelt = set(), [], 0, 0
for i in range(24):
    for nr, z in enumerate(open(f"roh/teil_{i:03d}.jsonl"), 1):
        try:
            t = json.loads(z)["text"]
        except json.JSONDecodeError as e:
            kaputt += 1
            print(f"WARNUNG roh/teil_{i:03d}.jsonl Zeile {nr} übersprungen: JSONDecodeError {e.msg}", flush=True)
            continue
        h = hashlib.md5(t.encode()).digest()
        doppelt += h in gesehen
        if h not in gesehen:
            gesehen.add(h)
            gut.append(t)
    time.sleep(PAUSE)
    print(f"{time.strftime('%d.%m.%Y %H:%M:%S')} Datei {i + 1}/24: {len(gut)} Absätze behalten, {doppelt} doppelt, {kaputt} fehlerhaft", flush=True)
tok = Tokenizer(models.BPE(unk_token="<unk>"))
tok.pre_tokenizer = pre_tokenizers.Whitespace()
tok.train_from_iterator(gut, trainers.BpeTrainer(vocab_size=600, special_tokens=["<unk>", "<eos>"], show_progress=False))
tok.save("tokenizer.json")
print(f"{time.strftime('%d.%m.%Y %H:%M:%S')} Tokenizer gelernt: {tok.get_vocab_size()} Einträge", flush=True)
ids = []
for n, t in enumerate(gut, 1):
    ids += tok.encode(t).ids + [1]
    if n % 500 == 0:
        time.sleep(PAUSE)
        print(f"{time.strftime('%d.%m.%Y %H:%M:%S')} {n}/{len(gut)} Absätze zerlegt, {len(ids)} Token", flush=True)
np.array(ids, np.uint16).tofile("korpus.bin")
print("korpus.bin geschrieben", flush=True)
