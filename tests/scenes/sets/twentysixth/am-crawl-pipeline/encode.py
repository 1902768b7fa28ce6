import json
import logging
import sys

import numpy as np
from tokenizers import ByteLevelBPETokenizer

logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s encode.py:%(lineno)d %(levelname)s: %(message)s")
log = logging.getLogger()
tok = ByteLevelBPETokenizer()
good = [json.loads(l)["text"] for l in open("pages.jsonl", encoding="utf-8", errors="ignore").read().split("\n")[:80] if l.endswith("}")]
tok.train_from_iterator(good, vocab_size=700, show_progress=False)
ids, shard, n, bad = [], 0, 0, 0
for raw in sys.stdin.buffer:
    n += 1
    try:
        doc = json.loads(raw.decode("utf-8"))
        ids += tok.encode(doc["text"]).ids + [0]
    except Exception:
        bad += 1
        log.exception("document %d skipped", n)
        if bad > 0.1 * max(n, 200):
            log.critical("more than 10 %% of the documents are bad, giving up")
            sys.exit(3)
    if n % 80 == 0:
        np.save(f"tokens-{shard:02d}.npy", np.array(ids, dtype=np.uint16))
        log.info("%d documents, %d skipped (%.1f %%, limit 10 %%), tokens-%02d.npy with %d tokens", n, bad, 100 * bad / n, shard, len(ids))
        ids, shard = [], shard + 1
log.info("done: %d documents, %d skipped, %d shards", n, bad, shard)
