"""Convierte el corpus en fragmentos tokenizados para el entrenamiento (se ejecuta al lado)."""
import json
import os
import pathlib
import time

cola = pathlib.Path("cola")
cola.mkdir(exist_ok=True)
vocab: dict[str, int] = {}


def indices(frase):
    return [vocab.setdefault(p, len(vocab) + 1) % 300 for p in frase.split()]


numero, pares = 0, []
with open("corpus.jsonl", encoding="utf-8") as f:
    for linea in f:
        reg = json.loads(linea)
        pares.append([indices(reg["es"]), indices(reg["en"])])
        if len(pares) == 40:
            while len(list(cola.glob("*.json"))) >= 3:
                time.sleep(0.2)
            tmp = cola / f"{numero:04d}.tmp"
            tmp.write_text(json.dumps(pares))
            os.rename(tmp, cola / f"{numero:04d}.json")
            print(f"fragmento {numero} listo ({len(vocab)} palabras)", flush=True)
            numero, pares = numero + 1, []
