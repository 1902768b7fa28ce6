"""Feature store stand-in for the shared volume: burst credits, then the baseline rate."""
import http.server
import json
import time

import numpy as np

rng = np.random.default_rng(0)
U, V = rng.normal(size=(300, 4)), rng.normal(size=(200, 4))
CREDITS, BASE = 230.0, 0.35  # requests, requests a second


class H(http.server.BaseHTTPRequestHandler):
    credits, last, said = CREDITS, time.monotonic(), False

    def do_GET(self):
        now = time.monotonic()
        H.credits = min(CREDITS, H.credits + BASE * (now - H.last)) - 1
        H.last = now
        if H.credits < 0:
            if not H.said:
                print(time.strftime("%X"), "burst credits spent, baseline rate", flush=True)
                H.said = True
            time.sleep(-H.credits / BASE)
        u, v = rng.integers(0, 300, 128), rng.integers(0, 200, 128)
        y = ((U[u] * V[v]).sum(1) + 0.3 * rng.normal(size=128) > 0).astype(int)
        b = json.dumps({"u": u.tolist(), "v": v.tolist(), "y": y.tolist()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(b)))
        self.end_headers()
        self.wfile.write(b)

    def log_message(self, *a):
        pass


s = http.server.HTTPServer(("127.0.0.1", 0), H)
open("store.port", "w").write(str(s.server_address[1]))
s.serve_forever()
