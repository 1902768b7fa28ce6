"""Feature store for development: embeddings over loopback."""
import json, os, random
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class H(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        n = 64; r = random.Random(self.path)
        rows = [[r.gauss(0, 1) for _ in range(12)] for _ in range(n)]
        body = json.dumps({"x": rows, "y": [int(v[0] + v[1] * v[2] > 0) for v in rows]}).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *a): pass
s = ThreadingHTTPServer(("127.0.0.1", 0), H)
open("store.pid", "w").write(str(os.getpid()))
open("store.port.tmp", "w").write(str(s.server_port)); os.rename("store.port.tmp", "store.port")
s.serve_forever()
