"""Limpeza e tokenização de um corpus em fragmentos, com um Pool de dois processos."""
import hashlib
import json
import logging
import multiprocessing as mp
import os
import pathlib
import random
import time

import numpy as np

PACE = float(os.environ.get("PACE", "1.0"))
N = 220
logging.basicConfig(filename="limpeza.log", level=logging.DEBUG, format="%(asctime)s %(levelname)-8s %(processName)s: %(message)s")
log = logging.getLogger("limpeza")
PAL = "o a de que e do da em um para com não uma os no se na por mais as dos como mas ao ele das à seu sua ou quando muito nos já eu também só pelo pela até isso".split()


def fragmento(i):
    r = random.Random(i)
    time.sleep(PACE * r.uniform(1.1, 1.9))
    vistos, ids, ruins, dup = set(), [], 0, 0
    for _ in range(400):
        linha = " ".join(r.choices(PAL, k=r.randint(3, 12)))
        bruto = json.dumps({"text": linha})
        if r.random() < 0.01:
            bruto = bruto[:-4]
        try:
            t = json.loads(bruto)["text"]
        except json.JSONDecodeError as e:
            ruins += 1
            if ruins == 1:
                log.warning("fragmento %04d: linha inválida ignorada (%s)", i, e)
            continue
        h = hashlib.md5(t.encode()).digest()
        if h in vistos:
            dup += 1
            continue
        vistos.add(h)
        ids += [PAL.index(p) for p in t.split()] + [len(PAL)]
    np.array(ids, np.uint16).tofile(f"tokens/{i:04d}.bin")
    return i, len(ids), ruins, dup


if __name__ == "__main__":
    pathlib.Path("tokens").mkdir(exist_ok=True)
    log.info("%d fragmentos, 2 processos", N)
    t0, total, ruins, dups = time.time(), 0, 0, 0
    with mp.Pool(2, maxtasksperchild=25) as pool:
        for k, (i, n, b, d) in enumerate(pool.imap_unordered(fragmento, range(N)), 1):
            total, ruins, dups = total + n, ruins + b, dups + d
            log.info("%d/%d fragmentos prontos, %d tokens, %d linhas ruins, %d duplicadas, %.2f frag/s", k, N, total, ruins, dups, k / (time.time() - t0))
    log.info("juntando tudo em corpus.bin")
    with open("corpus.bin", "wb") as f:
        for p in sorted(pathlib.Path("tokens").glob("*.bin")):
            f.write(p.read_bytes())
            p.unlink()
    log.info("pronto: %d tokens", total)
