"""A network volume like those of the rented boxes: a small steady rate, and credit for a burst above it.
Serves blocks over a Unix socket; ends when the last reader has been gone for a while."""
import os
import socket
import threading
import time

PATH = "volume.sock"
STEADY = 0.12e6          # bytes a second
CREDIT = 36e6            # burst credit at the start
BLOCK = 16 * 1024


class Bucket:
    def __init__(self):
        self.tokens, self.at, self.lock = CREDIT, time.monotonic(), threading.Lock()

    def take(self, n):
        with self.lock:
            now = time.monotonic()
            self.tokens = min(CREDIT, self.tokens + (now - self.at) * STEADY)
            self.at = now
            self.tokens -= n
            wait = -self.tokens / STEADY if self.tokens < 0 else 0.0
        time.sleep(wait)


def serve(conn, bucket, readers):
    block = os.urandom(BLOCK)
    try:
        with conn:
            while len(ask := conn.recv(8)) == 8:
                for _ in range(int.from_bytes(ask, "little")):
                    bucket.take(BLOCK)
                    conn.sendall(block)
    except OSError:
        pass
    finally:
        readers.pop()


def main():
    if os.path.exists(PATH):
        os.remove(PATH)
    server = socket.socket(socket.AF_UNIX)
    server.bind(PATH)
    server.listen(16)
    server.settimeout(1.0)
    bucket, readers, idle = Bucket(), [], 0
    while idle < 60:
        try:
            conn, _ = server.accept()
        except TimeoutError:
            idle = 0 if readers else idle + 1
            continue
        conn.settimeout(None)
        readers.append(1)
        threading.Thread(target=serve, args=(conn, bucket, readers), daemon=True).start()
    os.remove(PATH)


if __name__ == "__main__":
    main()
