"""Object store for one box. Rebalances (503) now and then and is restarted for log rotation."""
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

root, began, asked = sys.argv[1], time.time(), [0]


class Put(BaseHTTPRequestHandler):
    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        asked[0] += 1
        if asked[0] in (2, 3):
            self.send_error(503, "rebalancing")
            return
        with open(os.path.join(root, os.path.basename(self.path)), "wb") as f:
            f.write(body)
        self.send_response(201)
        self.end_headers()


port_file = os.environ["STORE_PORT_FILE"]
port = int(open(port_file).read()) if os.path.exists(port_file) else 0
server = ThreadingHTTPServer(("127.0.0.1", port), Put)
open("store.pid", "w").write(str(os.getpid()))
open(port_file, "w").write(str(server.server_port))
server.timeout = 1
while time.time() - began < 21:
    server.handle_request()
server.server_close()
