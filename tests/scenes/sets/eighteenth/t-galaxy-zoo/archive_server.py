"""Stand-in for the archive of the observatory: cutouts over HTTP, tape-like latency."""
import http.server
import io
import time

import numpy as np


class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        n = int(self.path.strip("/").split(".")[0])
        rng = np.random.default_rng(n)
        y, x = np.mgrid[-16:16, -16:16]
        r = np.hypot(x, y * (1 + n % 3))
        buf = io.BytesIO()
        np.save(buf, (np.exp(-r / 5) + rng.normal(0, 0.1, (32, 32))).astype("float32"))
        time.sleep(0.5)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(buf.getvalue())

    def log_message(self, *a):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), H)
open("archive.port", "w").write(str(server.server_port))
server.serve_forever()
