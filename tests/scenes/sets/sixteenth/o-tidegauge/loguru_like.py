import sys
from datetime import datetime


class _Logger:
    def _say(self, level, text):
        frame = sys._getframe(2)
        now = datetime.now().strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
        print(f"{now} | {level:<8} | {frame.f_globals['__name__']}:{frame.f_code.co_name}:{frame.f_lineno} - {text}", file=sys.stderr, flush=True)

    def info(self, text):
        self._say("INFO", text)

    def success(self, text):
        self._say("SUCCESS", text)


logger = _Logger()
