"""Gives out passage shards over HTTP; at most 4 requests at a time go to the disk."""
import json
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

slots = threading.BoundedSemaphore(4)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        slots.acquire()
        kind, n = self.path.strip("/").split("/")
        n = int(n)
        if kind == "hardneg" and n % 5 == 4:  # no negatives mined for this shard
            self.send_error(404)
            return
        rnd = random.Random(n * 7 + len(kind))
        rows = [[rnd.randrange(200) for _ in range(8)] for _ in range(64)]
        body = json.dumps(rows).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        slots.release()


srv = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open("port", "w") as f:
    f.write(str(srv.server_address[1]))
srv.serve_forever()
