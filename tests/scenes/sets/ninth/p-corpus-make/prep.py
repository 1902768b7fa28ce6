import sys
import time

from datasets import load_dataset

BLOCK = 64


def clean(batch):
    time.sleep(0.5)
    return {"text": [" ".join(t.split()) for t in batch["text"]]}


def pack(batch):
    time.sleep(0.4)
    ids = [b for t in batch["text"] for b in t.encode("ascii", "replace") + b"\n"]
    n = len(ids) // BLOCK
    return {"input_ids": [ids[i * BLOCK:(i + 1) * BLOCK] for i in range(n)]}


ds = load_dataset("csv", data_files=sys.argv[1], split="train")
print(ds)
ds = ds.filter(lambda r: r["text"] is not None and not r["text"].startswith("#"), desc="drop comments")
ds = ds.map(clean, batched=True, num_proc=2, desc="clean")
ds = ds.map(pack, batched=True, num_proc=2, remove_columns=ds.column_names, desc="pack")
ds = ds.train_test_split(test_size=0.02, seed=0)
ds.save_to_disk(sys.argv[2])
print(ds)
