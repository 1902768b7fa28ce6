"""The object store of the team, small edition: it sheds load for a while, as the big one does."""
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

first = []


class Store(BaseHTTPRequestHandler):
    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        first.append(time.time()) if not first else None
        if time.time() - first[0] < 9:
            self.send_response(503, "Slow Down")
            self.send_header("Retry-After", "4")
        else:
            with open("bucket_" + self.path.strip("/").replace("/", "_"), "wb") as f:
                f.write(body)
            self.send_response(200)
        self.end_headers()

    def log_message(self, *args):
        pass


ThreadingHTTPServer(("127.0.0.1", 18611), Store).serve_forever()
