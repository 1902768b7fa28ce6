"""Shard server of the box: /shard/N gives 8 kB of unit ids."""
import http.server, random, socketserver


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        n = int(self.path.rsplit("/", 1)[1])
        r, u, ids = random.Random(n), 0, []
        for _ in range(64 * 129):
            u = (3 * u + r.randrange(8)) % 100
            ids.append(u)
        data = bytes(ids)
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *a):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


s = Server(("127.0.0.1", 0), Handler)
open("shardd.port.tmp", "w").write(str(s.server_port))
import os
os.rename("shardd.port.tmp", "shardd.port")
open("shardd.pid", "w").write(str(os.getpid()))
s.serve_forever()
