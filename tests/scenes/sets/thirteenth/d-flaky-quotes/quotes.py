import json, random, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
R = random.Random(4)
class H(BaseHTTPRequestHandler):
    def do_GET(self):
        if R.random() < .12: self.send_error(503, "Service Unavailable"); return
        if R.random() < .04: self.connection.close(); return
        r = random.Random(self.path); b = json.dumps([[r.gauss(0, 1) for _ in range(9)] for _ in range(64)]).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(b))); self.end_headers(); self.wfile.write(b)
    def log_message(self, *a): pass
    def finish(self):
        try: super().finish()
        except (OSError, ValueError): pass
s = HTTPServer(("127.0.0.1", 0), H); print(s.server_port, flush=True); s.serve_forever()
