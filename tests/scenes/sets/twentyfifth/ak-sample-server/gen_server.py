"""Serves continuations of the last exported model. python gen_server.py model.npz PORT"""
import http.server
import json
import sys
import urllib.parse

import numpy as np

w = np.load(sys.argv[1])
rng = np.random.default_rng(0)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        v = int(urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)["start"][0])
        out = [v]
        for _ in range(12):
            z = np.tanh(w["emb"][v] @ w["w1"].T + w["b1"]) @ w["w2"].T + w["b2"]
            p = np.exp(z - z.max())
            v = int(rng.choice(len(p), p=p / p.sum()))
            out.append(v)
        body = json.dumps(out).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *a):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
