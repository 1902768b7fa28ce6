import glob
import logging
import queue
import socketserver
import struct
import threading
import numpy as np

logging.basicConfig(filename="logs/data_server.log", level=logging.INFO, format="%(asctime)s %(threadName)s %(levelname)s %(message)s")
batches = queue.Queue(maxsize=4)


def read(path):
    with open(path, "rb") as f:
        while head := f.read(4):
            (size,) = struct.unpack("<I", head)
            yield np.frombuffer(f.read(size), dtype="<f4", count=17)


def feed():
    try:
        epoch = 0
        while True:
            for path in sorted(glob.glob("shards/*.bin")):
                logging.info("epoch %d open %s", epoch, path)
                rows = []
                for row in read(path):
                    rows.append(row)
                    if len(rows) == 32:
                        batches.put(np.stack(rows).tobytes())
                        rows = []
            epoch += 1
    except Exception:
        logging.exception("reader ended")
        raise


class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        while self.request.recv(1):
            data = batches.get()
            self.request.sendall(struct.pack("<I", len(data)) + data)


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


threading.Thread(target=feed, name="reader", daemon=True).start()
Server("data.sock", Handler).serve_forever()
