import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np

rng = np.random.default_rng(0)
goal = rng.normal(size=(6, 3))


class Sim(BaseHTTPRequestHandler):
    def do_POST(self):
        w = np.array(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["w"])
        obs = rng.normal(size=(64, 6))
        p = np.exp(obs @ w)
        p /= p.sum(1, keepdims=True)
        act = (p.cumsum(1) > rng.random((64, 1))).argmax(1)
        reward = (act == (obs @ goal).argmax(1)).astype(float)
        time.sleep(0.5)
        out = json.dumps({"obs": obs.tolist(), "act": act.tolist(), "reward": reward.tolist()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(out)))
        self.end_headers()
        self.wfile.write(out)


server = HTTPServer(("127.0.0.1", 0), Sim)
with open(sys.argv[1] + ".new", "w") as f:
    f.write(str(server.server_port))
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
