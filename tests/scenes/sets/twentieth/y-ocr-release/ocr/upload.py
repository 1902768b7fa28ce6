import os
import shutil
import sys

os.makedirs("registro/ocr", exist_ok=True)
shutil.copy(sys.argv[1], "registro/ocr/actual.ts")
print("Subido al registro: ocr/actual.ts")
