import http.server, json, os, random, socketserver, time


class Handler(http.server.BaseHTTPRequestHandler):
    hits = 0

    def do_GET(self):
        Handler.hits += 1
        if Handler.hits % 6 == 5:
            self.send_error(503, "Slow Down")
            return
        n = int(self.path.rsplit("/", 1)[1])
        r = random.Random(n)
        rows = [{"text": [(a + 7 * i + r.randrange(3)) % 200 for i in range(24)], "image": [r.random() for _ in range(64)]} for a in (r.randrange(200) for _ in range(40))]
        data = "\n".join(json.dumps(row) for row in rows)
        if n % 5 == 3:
            data = data.replace('"image": [', '"image": [NUL, ', 1)   # a broken row of the crawl
        body = data.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *a):
        pass


s = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
open("port.tmp", "w").write(str(s.server_address[1]))
os.rename("port.tmp", "port")
s.serve_forever()
