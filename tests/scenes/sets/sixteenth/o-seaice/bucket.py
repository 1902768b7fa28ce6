"""Local gateway of the object store."""
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

QUOTA, WINDOW_S = 260, 3.5
state = {"used": 0, "next": 0.0}


class Gateway(BaseHTTPRequestHandler):
    def do_GET(self):
        state["used"] += 1
        if state["used"] > QUOTA:
            now = time.monotonic()
            if now < state["next"]:
                self.send_response(429)
                self.send_header("Retry-After", "4")
                self.end_headers()
                return
            state["next"] = now + WINDOW_S
        seed = abs(hash(self.path)) % 100000
        body = np.random.default_rng(seed).normal(size=(4, 32, 32)).astype("float32").tobytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Gateway).serve_forever()
