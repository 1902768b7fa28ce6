"""Copies the tiles to the local scratch once, before the training."""
import pathlib
import shutil

target = pathlib.Path("scratch/tiles")
target.mkdir(parents=True, exist_ok=True)
files = sorted(pathlib.Path("bucket").glob("*.npy"))
for f in files:
    shutil.copy(f, target)
print(f"cache warm: {len(files)} tiles in {target}", flush=True)
