"""A training whose every word tries to be more than text: hostile.py TEXTS FOLDER [WORD…].

TEXTS is a JSON file: ``lines``, ``names`` and ``error``, in hexadecimal. It prints the lines between its
steps, saves under the names in FOLDER, and dies of the error.
"""

import json
import os
import sys
import time

with open(sys.argv[1]) as file:
    texts = json.load(file)
folder = sys.argv[2]
out = sys.stdout.buffer


def say(data: bytes) -> None:
    out.write(data + b"\n")
    out.flush()


for number, line in enumerate(texts["lines"], 1):
    say(b"step %d loss %.4f " % (number, 2 + 1 / number) + bytes.fromhex(line))
    say(bytes.fromhex(line))
for number, name in enumerate(texts["names"], 1):
    path = os.fsencode(folder) + b"/" + bytes.fromhex(name)
    with open(path, "wb") as save:
        save.write(b"\0" * 64)
    say(b"step %d loss 2.0" % (len(texts["lines"]) + number))
    say(b"saved checkpoint to " + path)
    time.sleep(0.02)
time.sleep(1)
raise RuntimeError(
    "CUDA error: " + bytes.fromhex(texts["error"]).decode("utf-8", "surrogateescape")
)
