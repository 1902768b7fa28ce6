"""Server di valutazione: riceve i pesi di un candidato, risponde con l'accuratezza."""
import http.server
import json
import os
import pickle

from dati import prova

X, y = prova()
open("eval.pid", "w").write(str(os.getpid()))


class H(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        m = pickle.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps({"acc": float((m.predict(X) == y).mean())}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *a):
        pass


http.server.HTTPServer.allow_reuse_address = True
s = http.server.HTTPServer(("127.0.0.1", int(open("eval.port").read())), H)
print("[eval] pronto", flush=True)
s.serve_forever()
