import http.server, sys, time
import numpy as np

time.sleep(float(sys.argv[2]))  # the data host boots by schedule


class Data(http.server.BaseHTTPRequestHandler):
    asked = 0

    def do_GET(self):
        Data.asked += 1
        if Data.asked in (2, 5):
            self.send_error(503, "Service Unavailable")
            return
        rng = np.random.default_rng(Data.asked)
        body = rng.standard_normal((900, 9)).astype("float32").tobytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *a):
        pass


http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Data).serve_forever()
