"""Petit journal à la loguru."""
import sys
from datetime import datetime


def _ecrire(niveau, message):
    h = datetime.now().strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    sys.stderr.write(f"{h} | {niveau:<8} | intentions.entrainement - {message}\n")
    sys.stderr.flush()


def info(m):
    _ecrire("INFO", m)


def succes(m):
    _ecrire("SUCCESS", m)
