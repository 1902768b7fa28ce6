import sys
import urllib.request

try:
    print("probe:", urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/like?user=3", timeout=3).read().decode().strip())
except OSError as e:
    print(f"probe: {e}")
    sys.exit(1)
