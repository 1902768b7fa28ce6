import logging
import multiprocessing as mp
import os
import random
import time

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(processName)s: %(message)s")
WORDS = [f"w{i}" for i in range(500)]


def shard(n):
    random.seed(n)
    short = 0
    with open(f"tokens/{n:03d}.txt", "w") as out:
        for doc in range(400):
            words = random.choices(WORDS, k=random.randint(1, 60))
            time.sleep(0.02)  # the normaliser and the language filter
            if len(words) < 6:
                short += 1
                continue
            out.write(" ".join(str(int(w[1:])) for w in words) + "\n")
    if short:
        logging.warning("shard %03d: %d documents skipped (shorter than 6 tokens)", n, short)
    return n


if __name__ == "__main__":
    os.makedirs("tokens", exist_ok=True)
    logging.info("tokenizing 8 shards with 2 workers")
    with mp.Pool(2) as pool:
        for n in pool.imap_unordered(shard, range(8)):
            logging.info("shard %03d ready", n)
    logging.info("preprocessing complete")
