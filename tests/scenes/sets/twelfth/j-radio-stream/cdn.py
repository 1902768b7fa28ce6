import random
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

rng = random.Random(1)


class Clip(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        n = int(self.path.rsplit("/", 1)[1])
        if rng.random() < 0.015:
            self.send_response(503)
            self.send_header("Retry-After", "1")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        t = np.arange(1600) / 8000
        wav = np.sin(2 * np.pi * (200 + 150 * (n % 6)) * t) + 0.4 * np.random.randn(1600)
        body = wav.astype("<f4").tobytes()
        if n % 83 == 7:
            body = body[:1001]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *a):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Clip)
open(sys.argv[1], "w").write(str(server.server_port))
server.serve_forever()
