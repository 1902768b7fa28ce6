"""Makes 60 small WAV files; two of them are broken as in the real collection."""
import math
import os
import random
import struct
import wave

random.seed(2)
os.makedirs("clips", exist_ok=True)
for i in range(60):
    path = f"clips/{i:03d}.wav"
    f0 = random.choice([220, 330, 440, 550])
    with wave.open(path, "wb") as w:
        w.setnchannels(1)
        w.setsampwidth(2)
        w.setframerate(4000)
        w.writeframes(b"".join(struct.pack("<h", int(9000 * math.sin(2 * math.pi * f0 * t / 4000))) for t in range(600)))
    with open(path.replace(".wav", ".json"), "w") as f:
        f.write('{"f0": %d%s}\n' % (f0, ', "clipped": true' if i % 9 == 0 else ""))
for i in (31, 47):
    with open(f"clips/{i:03d}.wav", "wb") as f:
        f.write(b"<html><body>404 Not Found</body></html>")
