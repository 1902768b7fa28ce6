"""Serves feature shards: a client sends its rank, then gets length-prefixed float32 blocks for ever."""
import socketserver
import struct

import numpy as np

FRAMES, MELS = 96, 40


class Shard(socketserver.BaseRequestHandler):
    def handle(self):
        rank = struct.unpack("<i", self.request.recv(4))[0]
        print("client", rank, flush=True)
        rng = np.random.default_rng(rank)
        proto = np.random.default_rng(99).normal(size=(12, MELS)).astype("f4")
        while True:
            labels = rng.integers(0, 12, size=8).astype("i4")
            noise = rng.normal(size=(8, FRAMES, MELS)).astype("f4")
            feats = proto[labels][:, None, :] * 0.6 + noise
            body = labels.tobytes() + feats.astype("f4").tobytes()
            try:
                self.request.sendall(struct.pack("<i", len(body)) + body)
            except OSError:
                return


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


with Server(("127.0.0.1", 0), Shard) as server:
    with open("shardd.port", "w") as f:
        f.write(str(server.server_address[1]))
    server.serve_forever()
