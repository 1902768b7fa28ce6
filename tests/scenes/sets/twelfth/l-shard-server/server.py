"""Serves shards of synthetic features to trainers on this host."""
import io
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        shard = int(self.path.rsplit("/", 1)[1])
        rng = np.random.default_rng(shard)
        x = rng.normal(size=(512, 20)).astype(np.float32)
        y = (x[:, 0] - 0.5 * x[:, 3] + 0.3 * rng.normal(size=512) > 0).astype(np.float32)
        buf = io.BytesIO()
        np.savez(buf, x=x, y=y)
        time.sleep(0.2)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(buf.getvalue())

    def log_message(self, fmt, *args):
        pass


ThreadingHTTPServer(("127.0.0.1", 18471), Handler).serve_forever()
