"""Stand-in for a cloud volume: burst credits first, then the base rate (answers 429 when there is no credit)."""
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BURST, BASE = 260.0, 0.6
state = {"credit": BURST, "t": time.time()}


class H(BaseHTTPRequestHandler):
    def do_GET(self):
        now = time.time()
        state["credit"] = min(BURST, state["credit"] + (now - state["t"]) * BASE)
        state["t"] = now
        if state["credit"] < 1:
            self.send_response(429)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        state["credit"] -= 1
        body = os.urandom(64 * 96)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *a):
        pass


srv = ThreadingHTTPServer(("127.0.0.1", 0), H)
with open("port.tmp", "w") as f:
    f.write(str(srv.server_port))
os.replace("port.tmp", "port")
srv.serve_forever()
