"""Patents: clean and tokenise all files with a pool of processes, then train the small skip-gram model on them."""
import hashlib
import multiprocessing as mp
import os
import random
import time

import numpy as np

FILES, PROCS, VOCAB = 900, 3, 800


def register():
    with open("workers.pid", "a") as f:
        f.write(f"{os.getpid()}\n")


def tokenise(index):
    """One patent: markup out, words to numbers. The long ones need a lot of memory."""
    rng = random.Random(index)
    text = " ".join(f"claim{rng.randrange(5000)}" for _ in range(rng.randint(1500, 4000)))
    tokens = [int(hashlib.md5(w.encode()).hexdigest()[:6], 16) % VOCAB for w in text.split()]
    time.sleep(rng.uniform(0.09, 0.16))
    return index, np.asarray(tokens, dtype=np.int32)


def stamp():
    return time.strftime("%Y-%m-%d %H:%M:%S")


def prepare():
    corpus, done = {}, 0
    print(f"{stamp()} prepare: {FILES} files, {PROCS} processes", flush=True)
    with mp.get_context("fork").Pool(PROCS, initializer=register) as pool:
        for index, tokens in pool.imap_unordered(tokenise, range(FILES), chunksize=4):
            corpus[index] = tokens
            done += 1
            if done % 40 == 0:
                print(f"{stamp()} prepare: {done}/{FILES} files", flush=True)
    tokens = np.concatenate([corpus[i] for i in range(FILES)])
    np.save("patents.npy", tokens)
    print(f"{stamp()} prepare: {len(tokens)} tokens written", flush=True)
    return tokens


def train(tokens, steps=2000, dim=32, lr=0.5):
    rng = np.random.default_rng(0)
    a, b = rng.normal(0, 0.1, (VOCAB, dim)), rng.normal(0, 0.1, (VOCAB, dim))
    for step in range(1, steps + 1):
        i = rng.integers(1, len(tokens) - 1, 512)
        centre, ctx, noise = tokens[i], tokens[i + 1], rng.integers(0, VOCAB, 512)
        loss = 0.0
        for other, want in ((ctx, 1.0), (noise, 0.0)):
            p = 1 / (1 + np.exp(-(a[centre] * b[other]).sum(1)))
            loss -= np.log(np.where(want, p, 1 - p)).mean()
            g = ((p - want) / 512)[:, None]
            ga, gb = g * b[other], g * a[centre]
            np.add.at(a, centre, -lr * ga)
            np.add.at(b, other, -lr * gb)
        time.sleep(0.05)
        if step % 50 == 0:
            print(f"{stamp()} train: step {step} loss {loss:.4f}", flush=True)
        if step % 500 == 0:
            np.savez("skipgram.npz", a=a, b=b, step=step)


if __name__ == "__main__":
    train(prepare())
