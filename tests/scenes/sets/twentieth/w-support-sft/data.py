"""Chat pairs for the support assistant: ids of characters, loss on the answer only."""
import random

import torch

CHARS = " abcdefghijklmnopqrstuvwxyz0123456789.,?!:\n"
PAD, MAX_LEN = len(CHARS), 96
VOCAB = len(CHARS) + 1
WORDS = ("please reset my router the order did not arrive invoice number refund account locked "
         "thank you we will check the parcel today update firmware restart device password").split()


def encode(text):
    return [CHARS.index(c) for c in text if c in CHARS]


def sentence(rng, n):
    return " ".join(rng.choice(WORDS) for _ in range(n))


def build(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        # some tickets quote the whole mail thread
        long = rng.random() < 0.16
        prompt = encode("user: " + sentence(rng, rng.randint(22, 40) if long else rng.randint(2, 7)) + "\nbot: ")
        answer = encode(sentence(rng, rng.randint(3, 6)) + ".\n")
        ids = (prompt + answer)[:MAX_LEN]
        labels = ([-100] * len(prompt) + answer)[:MAX_LEN]
        rows.append({"input_ids": ids, "labels": labels})
    return rows


def collate(batch):
    width = max(len(r["input_ids"]) for r in batch)
    ids = torch.full((len(batch), width), PAD)
    labels = torch.full((len(batch), width), -100)
    mask = torch.zeros(len(batch), width, dtype=torch.long)
    for i, r in enumerate(batch):
        n = len(r["input_ids"])
        ids[i, :n] = torch.tensor(r["input_ids"])
        labels[i, :n] = torch.tensor(r["labels"])
        mask[i, :n] = 1
    return {"input_ids": ids, "labels": labels, "attention_mask": mask}
