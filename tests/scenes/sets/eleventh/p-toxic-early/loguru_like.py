import datetime
import sys


class _Logger:
    def _write(self, level, text):
        f = sys._getframe(2)
        now = datetime.datetime.now().strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
        sys.stderr.write(f"{now} | {level:<8} | {f.f_globals['__name__']}:{f.f_code.co_name}:{f.f_lineno} - {text}\n")

    def info(self, text):
        self._write("INFO", text)

    def warning(self, text):
        self._write("WARNING", text)


logger = _Logger()
