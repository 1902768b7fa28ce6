"""Object store gateway: hands out crops, each client with its own budget of bytes per second."""
import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np

LIMITS = Path(__file__).with_name("limits.json")


class Bucket:
    def __init__(self):
        self.tokens, self.at = 0.0, time.monotonic()

    def take(self, n):
        while True:
            rate = json.loads(LIMITS.read_text())["bytes_per_s"]
            now = time.monotonic()
            self.tokens = min(self.tokens + (now - self.at) * rate, rate * 0.25)
            self.at = now
            if self.tokens >= min(n, rate * 0.2):
                self.tokens -= n
                return
            time.sleep(0.01)


BUCKET = Bucket()


class Crops(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        seed = int(self.path.rsplit("/", 1)[1])
        r = np.random.default_rng(seed)
        y = r.integers(0, 4, 32)
        x = r.normal(0, 1, (32, 4, 24, 24)).astype("f4")
        x[np.arange(32), y] += 0.35
        body = y.astype("i8").tobytes() + x.tobytes()
        for part in range(0, len(body), 32768):
            BUCKET.take(len(body[part:part + 32768]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *a):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Crops)
    Path("gateway.port").write_text(str(server.server_port))
    server.serve_forever()
