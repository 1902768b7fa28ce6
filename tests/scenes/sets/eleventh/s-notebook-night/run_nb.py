import contextlib
import io
import json
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")


class Tee(io.StringIO):
    def write(self, text):
        sys.__stdout__.write(text)
        sys.__stdout__.flush()
        return super().write(text)


source, target = sys.argv[1:3]
book = json.load(open(source))
cells = [c for c in book["cells"] if c["cell_type"] == "code"]
space = {"__name__": "__main__"}
print(f"[run_nb] Executing notebook {source} with kernel: python3")
for n, cell in enumerate(cells, 1):
    t0, out = time.time(), Tee()
    print(f"[run_nb] cell {n}/{len(cells)}")
    with contextlib.redirect_stdout(out):
        exec(compile("".join(cell["source"]), f"cell[{n}]", "exec"), space)
    cell["execution_count"] = n
    cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": out.getvalue().splitlines(True)}]
    print(f"[run_nb] cell {n} took {time.time() - t0:.1f} s")
json.dump(book, open(target, "w"), indent=1)
print(f"[run_nb] Writing {os.path.getsize(target)} bytes to {target}")
