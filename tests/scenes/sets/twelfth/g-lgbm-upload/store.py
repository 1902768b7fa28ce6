import http.server
import os
import time

recent = []


class Store(http.server.BaseHTTPRequestHandler):
    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        now = time.time()
        recent.append(now)
        # a bucket that was cold answers SlowDown for its first seconds
        if now - recent[0] < 5:
            self.send_response(503, "SlowDown")
            self.end_headers()
            return
        os.makedirs("store", exist_ok=True)
        with open(f"store/{os.path.basename(self.path)}", "wb") as f:
            f.write(body)
        self.send_response(200)
        self.end_headers()


server = http.server.HTTPServer(("127.0.0.1", 0), Store)
with open("store.port", "w") as f:
    f.write(str(server.server_port))
server.serve_forever()
