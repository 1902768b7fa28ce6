"""A browser tab that is left open."""
import http.client
import os
import time

while not os.path.exists("dash.port"):
    time.sleep(0.3)
port = int(open("dash.port").read())
n = 0
while True:
    try:
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        c.request("GET", "/favicon.ico" if n % 6 == 0 else "/metrics")
        c.getresponse().read()
        c.close()
    except OSError:
        break
    n += 1
    time.sleep(3)
