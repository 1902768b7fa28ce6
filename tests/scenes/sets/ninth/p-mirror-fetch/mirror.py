"""A mirror of the corpus; under load it answers 503 now and then."""
import json
import random
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

count = 0


class Mirror(BaseHTTPRequestHandler):
    def do_GET(self):
        global count
        count += 1
        if count % 5 == 3:
            self.send_error(503, "Slow Down")
            return
        if count % 11 == 7:
            self.connection.close()
            return
        rnd = random.Random(self.path)
        rows = [{"text": " ".join(rnd.choice("alpha beta gamma delta eps zeta eta theta".split()) for _ in range(10)), "y": rnd.randrange(2)}
                for _ in range(64)]
        for r in rows:
            r["text"] = ("good " if r["y"] else "bad ") + r["text"]
        body = json.dumps(rows).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *a):
        pass


srv = HTTPServer(("127.0.0.1", 0), Mirror)
print(srv.server_address[1], file=open(sys.argv[1], "w"))
srv.serve_forever()
