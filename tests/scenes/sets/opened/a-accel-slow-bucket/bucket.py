"""The data side: serves GET /shard/<n> on localhost at the bandwidth in the file `quota` (bytes/s)."""
import http.server
import os
import random
import threading
import time
from pathlib import Path


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        n = int(self.path.rsplit("/", 1)[1])
        body = random.Random(n).randbytes(120_000)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        pos = 0
        while pos < len(body):
            self.wfile.write(body[pos:pos + 4000])
            pos += 4000
            time.sleep(4000 / float(Path("quota").read_text()))

    def log_message(self, *args):
        pass


if __name__ == "__main__":
    srv = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Path("port").write_text(str(srv.server_address[1]))
    life = threading.Timer(300, os._exit, (0,))          # a lease of five minutes
    life.daemon = True
    life.start()
    srv.serve_forever()
