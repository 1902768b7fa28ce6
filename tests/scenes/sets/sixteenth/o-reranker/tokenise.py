"""Query log to token ids, in shards."""
import hashlib
import pathlib
import time

out = pathlib.Path("shards")
out.mkdir(exist_ok=True)
for shard in range(8):
    lines = []
    for q in range(2000):
        h = hashlib.sha1(f"{shard}-{q}".encode()).digest()
        lines.append(" ".join(str(b) for b in h[:12]))
    (out / f"{shard:03d}.ids").write_text("\n".join(lines))
    time.sleep(1.2)
    print(f"tokenise: shard {shard + 1}/8, {len(lines)} queries", flush=True)
