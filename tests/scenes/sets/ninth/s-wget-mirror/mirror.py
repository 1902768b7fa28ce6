import hashlib
import io
import os
import random
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

files = {}
rng = np.random.default_rng(0)
for k in range(3):
    buf = io.BytesIO()
    np.save(buf, rng.normal(size=(700, 100)).astype(np.float32))
    files[f"/part{k}.npy"] = buf.getvalue()
files["/SHA256SUMS"] = "".join(f"{hashlib.sha256(b).hexdigest()}  {n[1:]}\n" for n, b in files.items()).encode()
tries = dict.fromkeys(files, 0)
lots = random.Random(2)


class Mirror(BaseHTTPRequestHandler):
    def do_GET(self):
        data, begin = files[self.path], 0
        tries[self.path] += 1
        if tries[self.path] == 2:
            return self.send_error(503)
        if rng_ := self.headers.get("Range"):
            begin = int(rng_.split("=")[1].split("-")[0])
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
        else:
            self.send_response(200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(data) - begin))
        self.end_headers()
        for i in range(begin, len(data), 24576):
            if len(data) > 9999 and tries[self.path] < 4 and i > begin and lots.random() < 0.3:
                self.connection.close()
                return
            self.wfile.write(data[i : i + 24576])
            time.sleep(0.25)


server = ThreadingHTTPServer(("127.0.0.1", 0), Mirror)
with open("mirror.port.new", "w") as f:
    f.write(str(server.server_port))
os.rename("mirror.port.new", "mirror.port")
server.serve_forever()
