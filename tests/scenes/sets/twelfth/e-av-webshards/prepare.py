"""Pack frames + audio features into tar shards."""
import io, os, random, sys, tarfile

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
for s in range(12):
    r = random.Random(s)
    with tarfile.open(f"{out}/av-{s:05d}.tar", "w") as tar:
        for i in range(48):
            for ext, size in (("aud", 320), ("img", 768), ("cls", 1)):
                data = r.randbytes(size) if ext != "cls" else bytes([i % 8])
                info = tarfile.TarInfo(f"{s:05d}_{i:04d}.{ext}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
