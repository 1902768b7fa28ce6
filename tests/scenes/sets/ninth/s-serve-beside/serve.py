import glob
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np


def newest():
    return max(glob.glob("models/*.npz"), default=None)


while not (path := newest()):
    if os.path.exists("models/STOP"):
        sys.exit(0)
    time.sleep(0.5)
model = np.load(path)
w, b = model["w"], model["b"]


class Serve(BaseHTTPRequestHandler):
    def do_POST(self):
        x = np.array(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        body = json.dumps({"model": path, "y": (x @ w.T + b).argmax(1).tolist()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server = HTTPServer(("127.0.0.1", 0), Serve)
server.timeout = 0.5
with open("serve.port.new", "w") as f:
    f.write(str(server.server_port))
os.rename("serve.port.new", "serve.port")
print(f"serving {path} on {server.server_port}")
while newest() == path and not os.path.exists("models/STOP"):
    server.handle_request()
print("newer model found" if newest() != path else "asked to stop")
sys.exit(3 if newest() != path else 0)
