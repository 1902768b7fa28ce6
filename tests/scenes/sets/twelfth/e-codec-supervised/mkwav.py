import math, array, os, wave

os.makedirs("wav", exist_ok=True)
for i in range(300):
    ch = 2 if i == 214 else 1
    data = array.array("h", (int(8000 * math.sin(t * (200 + i) / 8000)) for t in range(3200) for _ in range(ch)))
    with wave.open(f"wav/take_{i:04d}.wav", "wb") as w:
        w.setnchannels(ch); w.setsampwidth(2); w.setframerate(16000); w.writeframes(data.tobytes())
