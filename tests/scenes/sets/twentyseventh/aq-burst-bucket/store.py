"""The object store near the box (stands for it): token files over HTTP, with the bandwidth that the plan gives. USR1: the burst credit is used up."""
import http.server
import os
import signal
import time

rate = 40e6
signal.signal(signal.SIGUSR1, lambda *_: globals().__setitem__("rate", 0.08e6))
blob = os.urandom(1 << 20)


class Get(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        n = 256 * 1024
        self.send_response(200)
        self.send_header("Content-Length", str(n))
        self.end_headers()
        for i in range(0, n, 8192):
            self.wfile.write(blob[i:i + 8192])
            time.sleep(8192 / rate)

    def log_message(self, *a):
        pass


s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Get)
open("store.port", "w").write(str(s.server_port))
open("store.pid", "w").write(str(os.getpid()))
s.serve_forever()
