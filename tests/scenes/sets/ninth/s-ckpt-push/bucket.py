import argparse
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

p = argparse.ArgumentParser()
p.add_argument("--quota-mb", type=float)
a = p.parse_args()
objects = {}


class Bucket(BaseHTTPRequestHandler):
    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        others = sum(n for k, n in objects.items() if k != self.path)
        if others + len(body) > a.quota_mb * 2**20:
            self.send_error(507, "Insufficient Storage")
            return
        objects[self.path] = len(body)
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()


server = ThreadingHTTPServer(("127.0.0.1", 0), Bucket)
with open("bucket.port.new", "w") as f:
    print(server.server_port, file=f)
os.rename("bucket.port.new", "bucket.port")
server.serve_forever()
