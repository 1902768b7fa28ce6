"""Item features for the recommender, kept in memory: GET /items?ids=1,2,3 -> JSON."""
import json
import pathlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

import numpy as np

rng = np.random.default_rng(0)
table = {i: rng.normal(0, 1, 8).round(3).tolist() for i in range(3000)}
hits: dict[int, int] = {}
lock = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        ids = [int(i) for i in parse_qs(urlparse(self.path).query)["ids"][0].split(",")]
        lock.acquire()
        rows = []
        for i in ids:
            rows.append(table[i])
            hits[i] = hits.get(i, 0) + 1
        lock.release()
        body = json.dumps(rows).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *a):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
pathlib.Path("port.tmp").write_text(str(server.server_port))
pathlib.Path("port.tmp").rename("port")
server.serve_forever()
