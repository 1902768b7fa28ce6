"""Serves metrics.csv to a browser."""
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class H(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path != "/metrics" or not os.path.exists("metrics.csv"):
            self.send_error(404)
            return
        body = open("metrics.csv", "rb").read()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


srv = ThreadingHTTPServer(("127.0.0.1", 0), H)
with open("dash.tmp", "w") as f:
    f.write(str(srv.server_port))
os.replace("dash.tmp", "dash.port")
print(f"dashboard on http://127.0.0.1:{srv.server_port}/metrics", flush=True)
srv.serve_forever()
