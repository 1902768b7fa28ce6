"""Takes models over TCP and answers with their version."""
import socketserver


class H(socketserver.StreamRequestHandler):
    version = 0

    def handle(self):
        n = int(self.rfile.readline())
        self.rfile.read(n)
        H.version += 1
        self.wfile.write(f"{H.version}\n".encode())
        print("stored version", H.version, flush=True)


socketserver.ThreadingTCPServer.allow_reuse_address = True
with socketserver.ThreadingTCPServer(("127.0.0.1", 0), H) as s:
    with open("registryd.port", "w") as f:
        f.write(str(s.server_address[1]))
    s.serve_forever()
