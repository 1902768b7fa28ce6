import pickle, socketserver, sys
import numpy as np
rng = np.random.default_rng(0); A, B = rng.normal(size=(10, 64)), rng.normal(size=(64, 4))
class H(socketserver.StreamRequestHandler):
    def handle(self):
        x = pickle.load(self.rfile); pickle.dump(np.tanh(x @ A) @ B / 4, self.wfile)
print("teacher: listening on", sys.argv[1]); socketserver.UnixStreamServer(sys.argv[1], H).serve_forever()
