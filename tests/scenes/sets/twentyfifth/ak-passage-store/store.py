"""Passage store on loopback with the limits of the hosted one: so many requests a day and key, then one in 6 s."""
import http.server
import json
import random
import time

DAILY, SPACING = 190, 6.0


class Handler(http.server.BaseHTTPRequestHandler):
    served, last = 0, 0.0
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        now, cls = time.time(), Handler
        if cls.served >= DAILY and now - cls.last < SPACING:
            body, code = b'{"error": "daily quota used up"}', 429
        else:
            cls.served, cls.last = cls.served + 1, now
            rng = random.Random(cls.served)
            rows = []
            for _ in range(24):
                t = rng.randrange(40)
                rows.append([t, [(t * 7 + rng.randrange(9)) % 300 if rng.random() < 0.6 else rng.randrange(300)
                                 for _ in range(12)]])
            body, code = json.dumps(rows).encode(), 200
        self.send_response(code)
        if code == 429:
            self.send_header("Retry-After", str(int(SPACING)))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, fmt, *a):
        print(time.strftime("%H:%M:%S"), fmt % a, flush=True)


srv = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open("store.port", "w") as f:
    f.write(str(srv.server_address[1]))
srv.serve_forever()
