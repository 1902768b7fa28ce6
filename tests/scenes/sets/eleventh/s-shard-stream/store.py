import io
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np


class Store(BaseHTTPRequestHandler):
    def do_GET(self):
        n = int(self.path.rsplit("-", 1)[1].split(".")[0])
        rng = np.random.default_rng(n)
        x = rng.normal(size=(640, 64)).astype(np.float32)
        buf = io.BytesIO()
        np.savez(buf, x=x, y=(x[:, :8].sum(1) > x[:, 8:16].sum(1)).astype(np.float32))
        data = buf.getvalue()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        for i in range(0, len(data), 16384):
            self.wfile.write(data[i : i + 16384])
            time.sleep(0.25)


server = ThreadingHTTPServer(("127.0.0.1", 0), Store)
with open("store.port.tmp", "w") as f:
    f.write(str(server.server_port))
os.rename("store.port.tmp", "store.port")
server.serve_forever()
