"""Patches of the histology slides over HTTP, one box of the lab serves them all."""
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np

rng = np.random.default_rng(0)
W = rng.standard_normal((64, 5))


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        seed = int(self.path.rsplit("=", 1)[1])
        r = np.random.default_rng(seed)
        x = r.standard_normal((32, 64)).astype(np.float32)
        y = (x @ W + r.standard_normal((32, 5))).argmax(1)
        time.sleep(0.06)  # seek on the disk
        body = x.tobytes() + y.astype(np.int64).tobytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *a):
        pass


HTTPServer.request_queue_size = 64
HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
