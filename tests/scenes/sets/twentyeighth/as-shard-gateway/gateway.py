"""The object store of the data centre, in small: token shards over HTTP. Runs beside the box, not on it."""
import http.server
import threading

import numpy as np

SICK = "/tokens/r1-024.bin"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        rank, num = self.path.rsplit("/", 1)[1].split(".")[0][1:].split("-")
        rng = np.random.default_rng(int(rank) * 1000 + int(num))
        toks = np.cumsum(rng.choice([1, 1, 1, 5], (40, 33)), 1) % 64
        body = toks.astype(np.uint16).tobytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.path == SICK:  # the storage node behind the gateway is gone; the connection stays open
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            threading.Event().wait()
        self.wfile.write(body)

    def log_message(self, *a):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
open("gateway.port", "w").write(str(server.server_port))
server.serve_forever()
