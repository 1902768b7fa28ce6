"""Serves training shards (token ids, JSON) over HTTP."""
import json
import random
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Gateway(BaseHTTPRequestHandler):
    def do_GET(self):
        rnd = random.Random(self.path)
        rows = []
        for _ in range(96):
            a, b = rnd.randrange(250), rnd.randrange(1, 7)
            rows.append([(a + b * k) % 250 for k in range(24)])
        body = json.dumps(rows).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


srv = ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
open("gateway.port", "w").write(str(srv.server_address[1]))
srv.serve_forever()
