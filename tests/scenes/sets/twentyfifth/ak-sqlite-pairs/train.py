"""Recuperador de preguntas frecuentes: bi-codificador con pares leidos de SQLite."""
import logging
import os
import random
import sqlite3
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("faq")

DB = "pairs.db"
N_PAIRS, TOPICS, VOCAB = 3000, 60, 500
STEPS, BATCH = 420, 32


def build_db():
    rng = random.Random(3)
    topics = [[rng.randrange(VOCAB) for _ in range(14)] for _ in range(TOPICS)]

    def text(t):
        return " ".join(str(rng.choice(topics[t]) if rng.random() < 0.7 else rng.randrange(VOCAB))
                        for _ in range(10))

    con = sqlite3.connect(DB)
    con.execute("CREATE TABLE pairs(id INTEGER PRIMARY KEY, topic INT, question TEXT, answer TEXT, clicks INT)")
    rows = []
    for i in range(N_PAIRS):
        t = rng.randrange(TOPICS)
        rows.append((i, t, text(t), text(t), 0))
    con.executemany("INSERT INTO pairs VALUES(?,?,?,?,?)", rows)
    con.commit()
    con.close()


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.EmbeddingBag(VOCAB, 64)
        self.out = nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.Linear(96, 64))

    def forward(self, ids):
        return F.normalize(self.out(self.emb(ids)), dim=-1)


def ids(texts):
    return torch.tensor([[int(w) for w in t.split()] for t in texts])


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    if not os.path.exists(DB):
        build_db()
    with open("train.pid", "w") as f:
        f.write(str(os.getpid()))
    # the annotators write now and then, so wait for them
    con = sqlite3.connect(DB, timeout=7200)
    model = Encoder()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    rng = random.Random(0)
    log.info("%d pares, %d pasos, lote %d", N_PAIRS, STEPS, BATCH)
    for step in range(1, STEPS + 1):
        pick = rng.sample(range(N_PAIRS), BATCH)
        rows = con.execute("SELECT question, answer FROM pairs WHERE id IN (%s)" % ",".join("?" * BATCH),
                           pick).fetchall()
        q, a = model(ids([r[0] for r in rows])), model(ids([r[1] for r in rows]))
        sim = q @ a.T * 16
        loss = F.cross_entropy(sim, torch.arange(BATCH))
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.35)
        if step % 5 == 0:
            acc = (sim.argmax(1) == torch.arange(BATCH)).float().mean().item()
            log.info("paso %d/%d perdida %.4f aciertos@1 %.3f", step, STEPS, loss.item(), acc)
        if step % 40 == 0:
            torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "step": step}, "ckpt.tmp")
            os.replace("ckpt.tmp", "ckpt.pt")
            log.info("guardado ckpt.pt (paso %d)", step)
    log.info("fin")


if __name__ == "__main__":
    main()
