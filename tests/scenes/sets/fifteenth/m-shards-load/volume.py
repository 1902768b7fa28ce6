"""Stands for the network volume of the provider: full speed while there are burst credits, then the base rate."""
import http.server, io, sys, time
import numpy as np

CREDITS, BASE, SIZE = int(sys.argv[2]), float(sys.argv[3]), 40_000
spent = 0


class Volume(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        global spent
        spent += SIZE
        if spent > CREDITS:
            time.sleep(SIZE / BASE)
        rng = np.random.default_rng(abs(hash(self.path)) % 2**32)
        buf = io.BytesIO()
        np.save(buf, rng.standard_normal((312, 32)).astype("float32"))
        body = buf.getvalue()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *a):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Volume)
with open(sys.argv[1], "w") as f:
    f.write(str(server.server_address[1]))
server.serve_forever()
