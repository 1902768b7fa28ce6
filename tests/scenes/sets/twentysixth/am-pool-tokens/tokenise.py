"""Tokenise the crawl with a pool of workers; packed ids go to shards of 40 documents."""
import multiprocessing as mp
import os
import random
import time

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from tqdm import tqdm

N_DOCS, WORKERS, PER_SHARD = 1200, 3, 40
WORDS = [("".join(random.Random(i).choices("aeioubcdfghklmnprst", k=random.Random(i).randint(2, 9)))) for i in range(1500)]


def read_doc(i):
    rng = random.Random(i)
    return " ".join(rng.choices(WORDS, k=rng.randint(80, 400)))


def build_tokenizer():
    tok = Tokenizer(models.BPE(unk_token="[UNK]"))
    tok.pre_tokenizer = pre_tokenizers.Whitespace()
    tok.train_from_iterator((read_doc(i) for i in range(60)),
                            trainers.BpeTrainer(vocab_size=2000, special_tokens=["[UNK]", "[EOS]"], show_progress=False))
    tok.save("tokenizer.json")


TOK = None


def init():
    global TOK
    TOK = Tokenizer.from_file("tokenizer.json")


def encode(i):
    ids = TOK.encode(read_doc(i)).ids + [1]
    time.sleep(0.45)            # language id and the quality filter run here
    return ids


def main():
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    open("pid", "w").write(str(os.getpid()))
    os.makedirs("shards", exist_ok=True)
    build_tokenizer()
    buf, shard, total = [], 0, 0
    with mp.Pool(WORKERS, initializer=init) as pool:
        bar = tqdm(pool.imap(encode, range(N_DOCS)), total=N_DOCS, unit="doc", mininterval=1.0, desc="tokenise")
        for n, ids in enumerate(bar, 1):
            buf.extend(ids)
            total += len(ids)
            if n % PER_SHARD == 0:
                np.save(f"shards/part-{shard:04d}.npy", np.asarray(buf, dtype=np.uint16))
                tqdm.write(f"wrote shards/part-{shard:04d}.npy  {len(buf)} tokens  ({total} in all)")
                buf, shard = [], shard + 1
    print("all documents done", flush=True)


if __name__ == "__main__":
    main()
