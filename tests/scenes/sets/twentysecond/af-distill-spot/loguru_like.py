"""small stand-in for loguru's format"""
import datetime
import sys


class logger:
    @staticmethod
    def info(text):
        f = sys._getframe(1)
        now = datetime.datetime.now().strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
        print(f"{now} | INFO     | {f.f_globals['__name__']}:{f.f_code.co_name}:{f.f_lineno} - {text}", flush=True)
