"""The clip store: hands out batches of (image feature, text feature) over a socket, as the storage host does."""
import os
import socket
import struct
import threading

import numpy as np

r0 = np.random.default_rng(1)
mix = r0.normal(size=(24, 64)).astype(np.float32)
mix2 = r0.normal(size=(24, 48)).astype(np.float32)


def serve(c, seed):
    r = np.random.default_rng(seed)
    try:
        while c.recv(1):
            z = r.normal(size=(32, 24)).astype(np.float32)
            a = (np.tanh(z @ mix) + 0.2 * r.normal(size=(32, 64))).astype(np.float32)
            b = (np.tanh(z @ mix2) + 0.2 * r.normal(size=(32, 48))).astype(np.float32)
            body = a.tobytes() + b.tobytes()
            c.sendall(struct.pack("!I", len(body)) + body)
    except OSError:
        pass


s = socket.socket(socket.AF_UNIX)
if os.path.exists("store.sock"):
    os.unlink("store.sock")
s.bind("store.sock")
s.listen(8)
open("store.pid", "w").write(str(os.getpid()))
n = 0
while True:
    c, _ = s.accept()
    n += 1
    threading.Thread(target=serve, args=(c, n), daemon=True).start()
