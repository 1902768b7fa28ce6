import os
import time
import urllib.error
import urllib.request

REGISTRY = os.environ.get("REGISTRY", "http://127.0.0.1:18733/models")


def publish(raw, name, say, attempts=4):
    for attempt in range(1, attempts + 1):
        try:
            request = urllib.request.Request(f"{REGISTRY}/{name}", data=bytes(raw), method="PUT")
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status
        except urllib.error.URLError as error:
            if attempt == attempts:
                raise
            say("warning", "publish_retry", attempt=attempt, wait_s=2 * attempt, error=repr(error.reason))
            time.sleep(2 * attempt)
