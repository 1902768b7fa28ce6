"""Gateway to the shards: GET /shard/N gives a few hundred pairs as JSON lines."""
import json
import os
import random
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOPICS = [[f"{a}{b}" for b in "ra to mi len ka dus pol fin".split()] for a in "be sil tor mun gra che vol nat".split()]


class Shards(BaseHTTPRequestHandler):
    def do_GET(self):
        n = int(self.path.rsplit("/", 1)[1])
        rng = random.Random(n)
        lines = []
        for _ in range(160):
            words = TOPICS[rng.randrange(len(TOPICS))]
            lines.append(json.dumps({"anchor": " ".join(rng.choices(words, k=5)), "positive": " ".join(rng.choices(words, k=8))}))
        body = "\n".join(lines).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Shards)
with open("gateway.port.tmp", "w") as f:
    f.write(str(server.server_port))
os.replace("gateway.port.tmp", "gateway.port")
server.serve_forever()
