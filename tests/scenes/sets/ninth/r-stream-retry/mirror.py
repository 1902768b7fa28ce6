"""The mirror of the corpus, as slow and moody as the real one."""
import http.server
import json
import random
import sys

rnd = random.Random(6)
WORDS = "sea ship wind sail mast rope crew storm port deck".split()


def sentence(r):
    """Every word is mostly followed by one of two others."""
    k = r.randrange(10)
    out = [WORDS[k]]
    for _ in range(11):
        k = (k * 3 + r.choice((1, 1, 1, 4))) % 10
        out.append(WORDS[k])
    return out


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        mood = rnd.random()
        if mood < 0.2:
            self.send_error(503)
            return
        if mood < 0.35:
            self.connection.close()
            return
        r = random.Random(self.path)
        body = json.dumps([sentence(r) for _ in range(64)]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *a):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
open("mirror.port", "w").write(str(server.server_address[1]))
sys.stderr = open("mirror.log", "w")
server.serve_forever()
