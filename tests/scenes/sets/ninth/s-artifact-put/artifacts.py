import json
import os
from http.server import BaseHTTPRequestHandler, HTTPServer

kept, count = {}, 0


class Artifacts(BaseHTTPRequestHandler):
    def answer(self, code, body=b""):
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self):
        global count
        count += 1
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if count % 3 == 2:
            self.answer(503, b"busy")
        else:
            kept[self.path] = len(body)
            self.answer(201)

    def do_GET(self):
        self.answer(200, json.dumps(kept).encode())


server = HTTPServer(("127.0.0.1", 0), Artifacts)
with open("art.port.new", "w") as f:
    f.write(str(server.server_port))
os.rename("art.port.new", "art.port")
server.serve_forever()
