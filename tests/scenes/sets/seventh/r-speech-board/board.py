"""Tiny board: the last metrics as a web page, for a look from the laptop in the first minutes."""
import http.server
import json
import signal
import sys
import threading
import time

last = {}
signal.signal(signal.SIGINT, signal.default_int_handler)   # the shell starts background jobs with INT ignored


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(last).encode())


srv = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
threading.Thread(target=srv.serve_forever, daemon=True).start()
print(f"[board] serving on http://127.0.0.1:{srv.server_address[1]}", file=sys.stderr, flush=True)
while True:
    time.sleep(5)
    try:
        last = json.loads(open("metrics.jsonl").read().splitlines()[-1])
    except (OSError, IndexError, ValueError):
        continue
    print(f"[board] at step {last['step']}", file=sys.stderr, flush=True)
