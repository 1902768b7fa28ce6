"""The far bucket: answers each request after its round trip of 160 ms."""
import http.server
import pathlib
import time

import numpy as np


class Bucket(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        time.sleep(0.16)
        body = pathlib.Path("bucket", pathlib.Path(self.path).name).read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


r = np.random.default_rng(5)
pathlib.Path("bucket").mkdir(exist_ok=True)
for i in range(320):
    k = i % 4
    x = r.normal(0, 40, (3, 24, 24)) + 110 + 25 * np.sin(np.arange(24) * (0.3 + 0.25 * k))
    np.save(f"bucket/tile_{i:04d}_{k}.npy", x.clip(0, 255).astype(np.uint8))
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bucket)
pathlib.Path("bucket.port.tmp").write_text(str(server.server_port))
pathlib.Path("bucket.port.tmp").rename("bucket.port")
server.serve_forever()
