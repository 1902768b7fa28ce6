"""Tiny scheduler of one machine: the long job is paused while an urgent one runs."""
import signal
import subprocess
import sys
import time


def say(msg):
    print(f"[sched {time.strftime('%H:%M:%S')}] {msg}", flush=True)


long_job = subprocess.Popen([sys.executable, "-u", "train.py"])
say(f"long job started, pid {long_job.pid}")
time.sleep(26)
long_job.send_signal(signal.SIGSTOP)
say(f"pid {long_job.pid} paused, urgent job takes the machine")
with open("urgent.log", "w") as log:
    rc = subprocess.run([sys.executable, "-u", "urgent.py"], stdout=log, stderr=subprocess.STDOUT).returncode
say(f"urgent job over (status {rc})")
long_job.send_signal(signal.SIGCONT)
say(f"pid {long_job.pid} goes on")
rc = long_job.wait()
say(f"long job over (status {rc})")
sys.exit(rc)
