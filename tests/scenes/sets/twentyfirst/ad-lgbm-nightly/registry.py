"""Model registry of the office: accepts PUT, is slow to wake up."""
import http.server
import os
import time

first = None


class H(http.server.BaseHTTPRequestHandler):
    def do_PUT(self):
        global first
        first = first or time.time()
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if time.time() - first < 12:
            self.send_response(503)
            self.send_header("Retry-After", "5")
            self.end_headers()
            return
        os.makedirs("registry", exist_ok=True)
        open("registry/" + os.path.basename(self.path), "wb").write(body)
        self.send_response(201)
        self.end_headers()

    def log_message(self, *a):
        pass


s = http.server.HTTPServer(("127.0.0.1", 0), H)
open("registry.port", "w").write(str(s.server_address[1]))
s.serve_forever()
