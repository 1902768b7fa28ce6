"""Decodes one clip per request line on stdin (like `ffmpeg -f f32le` kept open); complaints go to stderr."""
import random
import struct
import sys

for line in sys.stdin:
    clip = int(line)
    rnd = random.Random(clip)
    if rnd.random() < 0.6:
        for _ in range(4):
            sys.stderr.write(f"[mp3float @ 0x55d0{clip:08x}] Header missing, trying to resync at frame {rnd.randrange(9000)}\n")
        sys.stderr.flush()
    data = [rnd.gauss(0, 1) for _ in range(400)]
    sys.stdout.buffer.write(struct.pack("<400f", *data))
    sys.stdout.buffer.flush()
