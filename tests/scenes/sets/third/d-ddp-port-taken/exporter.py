"""Serves metrics.txt for the dashboard."""
import http.server
import signal
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            with open("metrics.txt", "rb") as f:
                body = f.read()
        except OSError:
            body = b""
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


signal.alarm(240)                            # a test box: never stay longer than four minutes
http.server.ThreadingHTTPServer(("0.0.0.0", int(sys.argv[1])), Handler).serve_forever()
