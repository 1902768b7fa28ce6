"""Runs a notebook without jupyter, cell by cell, and stores it with its outputs."""
import contextlib
import io
import json
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
src, dst = sys.argv[1], sys.argv[2]
nb = json.load(open(src))
space = {"__name__": "__main__"}
code = [c for c in nb["cells"] if c["cell_type"] == "code"]
print(f"[run_nb] {src}: {len(code)} code cells", flush=True)
for n, cell in enumerate(code, start=1):
    print(f"[run_nb] cell {n}/{len(code)} ...", flush=True)
    buf, t0 = io.StringIO(), time.time()
    with contextlib.redirect_stdout(buf):        # shown when the cell is done
        exec(compile("".join(cell["source"]), f"<cell {n}>", "exec"), space)
    cell["execution_count"] = n
    text = buf.getvalue()
    if text:
        cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}]
        print("    " + text.strip().replace("\n", "\n    "), flush=True)
    print(f"[run_nb] cell {n}/{len(code)} ok, {time.time() - t0:.1f} s", flush=True)
    with open(dst, "w") as f:
        json.dump(nb, f, indent=1)
print(f"[run_nb] wrote {dst}", flush=True)
