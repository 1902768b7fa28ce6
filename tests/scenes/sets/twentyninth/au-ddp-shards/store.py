"""The cache in front of the bucket: serves shards over HTTP on this box, waits for the bucket where it has to."""
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from corpus import text


class Shards(BaseHTTPRequestHandler):
    def do_GET(self):
        while os.path.exists("store/UPSTREAM_DOWN"):
            time.sleep(1)
        body = text(30_000, seed=hash(self.path) % 10_000).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *a):
        pass


os.makedirs("store", exist_ok=True)
server = ThreadingHTTPServer(("127.0.0.1", 0), Shards)
with open("store/port.tmp", "w") as f:
    f.write(str(server.server_port))
os.replace("store/port.tmp", "store/port")
server.serve_forever()
