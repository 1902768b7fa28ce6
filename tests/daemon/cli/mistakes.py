"""Typical mistakes, as a person types them into a shell, and what they are to be told.

The table was written from the documentation and from imagination, before anybody looked at what the
program does with them. Lines run in a folder that :mod:`.test_mistakes` makes.
"""

from __future__ import annotations

from typing import NamedTuple


class Mistake(NamedTuple):
    """One mistake. ``says`` stands in the message, ``hint`` in the line below it."""

    what: str
    line: str
    code: int
    says: str
    hint: str


def _rows(text: str) -> list[Mistake]:
    """Blocks of four lines: what; command; exit code and message; hint."""
    found = []
    for block in text.strip().split("\n\n"):
        what, line, told, hint = block.splitlines()
        code, says = told.split(" ", 1)
        found.append(Mistake(what.removesuffix(":"), line.strip(), int(code), says, hint))
    return found


BARE = _rows("""
a command mistyped:
    middlewatch statsu
2 there is no 'statsu'
did you mean status

an option mistyped:
    middlewatch status --jsno
2 there is no option --jsno
did you mean --json?

an option of another command:
    middlewatch runs --follow
2 there is no option --follow
middlewatch runs --help

one dash too few:
    middlewatch status -json
2 there is no option -json
did you mean --json?

an option without its value:
    middlewatch incidents --run
2 --run: a value is missing
only incidents of this run

the daemon does not run:
    middlewatch status
3 no daemon answers
middlewatch start

the daemon was killed and its socket is still there:
    middlewatch status --state-dir stale
3 no daemon answers
middlewatch start

stop without a daemon is fine:
    middlewatch stop
0 was not running
-

nothing to run:
    middlewatch run
2 no command to run
middlewatch run -- python train.py

nothing after the dashes:
    middlewatch run --name gpt --
2 no command to run
middlewatch run -- python train.py

dashes forgotten, and an option mistyped:
    middlewatch run --nmae gpt python train.py
2 there is no option --nmae
did you mean --name

a script mistyped:
    middlewatch run -- python tran.py
2 there is no tran.py
did you mean train.py?

a program mistyped:
    middlewatch run -- pyhton train.py
2 there is no program pyhton
did you mean python

a script without its interpreter:
    middlewatch run -- train.py
2 there is no program train.py
python train.py

a script that may not be executed:
    middlewatch run -- ./train.sh
2 ./train.sh may not be executed
bash ./train.sh

a folder as a command:
    middlewatch run -- ./out
2 ./out is a folder
name a program

a command in quotes:
    middlewatch run -- "python train.py --lr 0.1"
2 there is no program 'python train.py --lr 0.1'
leave the quotes out

a variable before the command:
    middlewatch run -- CUDA_VISIBLE_DEVICES=0 python train.py
2 CUDA_VISIBLE_DEVICES=0 is no program
run -- env CUDA_VISIBLE_DEVICES=0 python train.py

a word of the shell as a command:
    middlewatch run -- cd out
2 cd is a word of the shell
bash -c

a module that is not there:
    middlewatch run -- python -m trian
2 there is no module trian
did you mean train?

a log where nothing can be written:
    middlewatch run --log /proc/nowhere/train.log -- python train.py
2 /proc/nowhere
--log

a folder as the log:
    middlewatch run --log out -- python train.py
2 is a directory
run.log

a file as the checkpoint folder:
    middlewatch run --checkpoints train.py -- python train.py
2 train.py is not a folder
name the folder

a way of detaching mistyped:
    middlewatch run --via tumx -- python train.py
2 there is no 'tumx'
did you mean tmux?

a way of detaching that is not installed:
    PATH=$PWD/bin middlewatch run --via tmux -- $PYTHON train.py
2 tmux
--via setsid

a log as a word:
    middlewatch watch train.log
2 train.log
--log train.log

a pid as a word:
    middlewatch watch 4711
2 4711
--pid 4711

a log that is not there:
    middlewatch watch --log trian.log
2 there is no
did you mean train.log?

a folder as a log:
    middlewatch watch --log out
2 is a directory
name a log file

a checkpoint as a log:
    middlewatch watch --log out/model.pt
2 is no text
middlewatch verify

a packed log:
    middlewatch watch --log old.log.gz
2 is packed
middlewatch replay

a process that is gone:
    middlewatch watch --pid 4194303
2 there is no process 4194303
middlewatch watch

a name where a pid is wanted:
    middlewatch watch --pid train.py
2 --pid
pgrep -f train.py

a pid below zero:
    middlewatch watch --pid -5
2 there is no process -5
middlewatch watch

the shell as the run:
    middlewatch watch --pid $SHELL_PID
2 is a shell
middlewatch watch

the first process of the box as the run:
    middlewatch watch --pid 1
2 process 1
middlewatch watch

a checkpoint that is not there:
    middlewatch verify modle.pt
2 there is no modle.pt
its folder

one of two checkpoints is not there:
    middlewatch verify out nowhere.pt
1 incomplete
it is not there

a folder without a checkpoint:
    middlewatch verify empty
1 no checkpoint in this folder
empty

a web page saved as a checkpoint:
    middlewatch verify page.safetensors
1 corrupt
web page

a checkpoint of no bytes:
    middlewatch verify zero.safetensors
1 zero.safetensors
empty

a pointer of git lfs:
    middlewatch verify pointer.safetensors
1 Git LFS
git lfs pull

a script as a checkpoint:
    middlewatch verify train.py
1 train.py
unverifiable

a level mistyped:
    middlewatch verify out --level checksums
2 there is no 'checksums'
did you mean checksum?

two options that exclude each other:
    middlewatch verify out --deep --level finite
2 --deep
leave --level out

a python that is not there:
    middlewatch verify out --deep --python nowhere/python
2 nowhere/python
--python

replay without a log:
    middlewatch replay
2 no log is named
middlewatch replay train.log

replay of a log mistyped:
    middlewatch replay trian.log
2 trian.log
did you mean train.log?

replay of a folder:
    middlewatch replay logs
2 it is a folder
logs/*.log

replay of an empty file:
    middlewatch replay empty.log
0 empty.log is empty
tee

replay of a checkpoint:
    middlewatch replay out/model.pt
2 is no text
middlewatch verify

replay of a packed log that was cut:
    middlewatch replay cut.log.gz
2 the gzip data end too early
the file was cut

no time for a silence:
    middlewatch silence --run gpt
2 for how long?
--for 30m

a time without a unit:
    middlewatch silence --all --for 30
2 cannot read the time '30'
30m

a time in words:
    middlewatch silence --all --for 2hours
2 cannot read the time '2hours'
2h

a time below zero:
    middlewatch silence --all --for -1h
2 --for
30m

a silence of nothing:
    middlewatch silence --for 1h
2 a silence of what?
--run RUN

a class mistyped:
    middlewatch silence --class cuda_ooom --for 1h
2 there is no class 'cuda_ooom'
did you mean cuda_oom

the run of a silence as a word:
    middlewatch silence gpt --for 1h
2 gpt
--run gpt

an incident without its id:
    middlewatch ack
2 id
middlewatch incidents

a page mistyped:
    middlewatch explain cuda_omo
2 cuda_omo
did you mean cuda_oom

a mirror without a destination:
    middlewatch mirror --dir out
2 no destination
--to DEST

a mirror into a folder that is not there:
    middlewatch mirror --dir out --to nowhere/copies
2 there is no folder
mkdir -p

a mirror into a file:
    middlewatch mirror --dir out --to train.py
2 train.py is not a folder
name a folder

a mirror into itself:
    middlewatch mirror --dir out --to out/copies
2 inside the folder that is copied
name a folder elsewhere

a size in unknown units:
    middlewatch mirror --dir out --to copies --limit 20X
2 cannot read the size '20X'
20MiB

a folder and a run:
    middlewatch mirror gpt --dir out --to copies
2 not both
leave one out

a folder of checkpoints mistyped:
    middlewatch prune --dir outt
2 there is no outt
did you mean out?

a number in words:
    middlewatch prune --dir out --keep-latest three
2 --keep-latest
a whole number

a number below zero:
    middlewatch prune --dir out --keep-latest -1
2 --keep-latest
0 or more

yes to nothing:
    middlewatch prune --dir out --yes
2 --yes
--apply

an address without a scheme:
    middlewatch alert add ntfy.sh/my-topic
2 has no scheme
ntfys://ntfy.sh/my-topic

an address of no service:
    middlewatch alert add foo://secret-token
2 foo://
apprise

an address cut by the shell:
    middlewatch alert add "mailto://a:secret@b.c?smtp=d" to=e
2 one URL
in quotes

no address:
    middlewatch alert add
2 which URL?
middlewatch alert add ntfys://

a test push with nobody to call:
    middlewatch alert test
2 no alert URL is set
middlewatch alert add

a trouble mistyped:
    middlewatch drill nann
2 there is no 'nann'
did you mean nan?

a configuration that is not there:
    middlewatch config check --config nowhere/mw.toml
2 no such configuration file
--config

a folder as the configuration:
    middlewatch config check --config out
2 cannot be read
name a file

a configuration that is no TOML:
    middlewatch config check --config broken.toml
2 line 2
quotes

a key mistyped:
    middlewatch config check --config key.toml
2 key.toml:2: unknown key
did you mean 'min_severity'?

a section mistyped:
    middlewatch config check --config section.toml
2 section.toml:1: unknown section
did you mean 'alerts'?

a value of the wrong type:
    middlewatch config check --config type.toml
2 type.toml:2: alerts.repeat_s
like

a value that is none of those allowed:
    middlewatch config check --config value.toml
2 value.toml:2: alerts.min_severity
critical

a configuration in Latin-1:
    middlewatch config check --config latin.toml
2 UTF-8
iconv

a list of addresses that is not there:
    middlewatch config check --config urls.toml
2 there is no such file
urls_file

a file as the state directory:
    middlewatch start --state-dir train.py
2 train.py cannot be used
--state-dir

a screen without a terminal:
    middlewatch tui
2 terminal
ssh -t

a screen of another box, without a terminal:
    middlewatch tui box3
2 terminal
ssh -t

a box whose name is an option:
    middlewatch tui -- -oProxyCommand=x
2 is no name of a box
user@host

a relay without a daemon:
    middlewatch relay
3 no daemon answers
middlewatch start

a folder that was deleted:
    mkdir gone && cd gone && rmdir ../gone && middlewatch run -- python train.py
2 the working folder
cd

bytes that are no text:
    middlewatch watch --log $'\\xff\\xfe\\xff'
2 there is no
touch

output into a full disk:
    middlewatch explain cuda_oom > /dev/full
2 No space left on device
output

a number of lines in words:
    middlewatch logs gpt -n ten
2 -n
a whole number
""")

BOX = _rows("""
a run mistyped:
    middlewatch status gtp
2 no run is called 'gtp'
did you mean gpt

a run mistyped where incidents are wanted:
    middlewatch incidents --run lamma
2 no run is called 'lamma'
did you mean llama

a name that fits two runs:
    middlewatch end gpt --yes
2 2 living runs are called 'gpt'
name one by its id: gpt-

a pid where a run is wanted:
    middlewatch end 4711 --yes
2 no run is called '4711'
known:

a signal with its prefix is understood:
    middlewatch end llama --signal sigkill
4 was not ended
--yes

a run that is alive:
    middlewatch forget llama
2 is alive
middlewatch end llama

a run in another writing:
    middlewatch status LLAMA
2 no run is called 'LLAMA'
did you mean llama

an incident that is none:
    middlewatch ack 3fa2c1
2 no incident has the id '3fa2c1'
middlewatch incidents

a run where an incident is wanted:
    middlewatch ack llama
2 'llama'
middlewatch incidents --run llama

a silence too long:
    middlewatch silence --all --for 400d
2 at most 30 days
--for

a silence of no time:
    middlewatch silence --all --for 0h
2 longer than 0
--for

a silence of a run mistyped:
    middlewatch silence --run gtp --for 1h
2 no run is called 'gtp'
did you mean gpt

a log that is none of the run's:
    middlewatch logs llama --file nowhere
2 no log of llama
output.log

a second daemon:
    middlewatch daemon
4 already watches
middlewatch stop

one name for all runs that are found:
    middlewatch watch --name mine --checkpoints out
2 --name
--pid

a checkpoint to resume from that is not there:
    middlewatch resume llama --from nowhere.pt
2 there is no
middlewatch checkpoints llama

a run to resume mistyped:
    middlewatch resume lama
2 no run is called 'lama'
did you mean llama

an id of an incident where a page is wanted:
    middlewatch explain 3fa2c1
2 3fa2c1
middlewatch incidents

a name in Chinese is a name:
    middlewatch logs 训练 -n 1
0 step
-

a name with a space is a name:
    middlewatch logs 'my run' -n 1
0 step
-

a name with a slash is no path:
    middlewatch status ../../etc/passwd
2 no run is called
known:

a URL for a test:
    middlewatch alert test json://localhost
2 takes no URL
alert add URL

a fingerprint that is none:
    middlewatch alert remove abcdef
2 no URL that was added
middlewatch alert list
""")

_POWERS = "-dac_override,-dac_read_search,-kill"
NO_RIGHTS = f"setpriv --bounding-set {_POWERS} --inh-caps {_POWERS}"
"""Root without the right to open everything: what belongs to another user is closed to it."""
READ_ONLY = "unshare -m sh -ec 'mount -t tmpfs -o ro none empty; exec \"$@\"' sh"
FULL = "unshare -m sh -ec 'mount -t tmpfs -o size=64k,mode=700 none empty; head -c 65536 /dev/zero > empty/x ||:; exec \"$@\"' sh"

ROOT = _rows(f"""
a log of another user:
    {NO_RIGHTS} middlewatch watch --log theirs/a.log
2 cannot be read: Permission denied
sudo

a finished log of another user:
    {NO_RIGHTS} middlewatch replay theirs/a.log
2 Permission denied
sudo

a checkpoint of another user:
    {NO_RIGHTS} middlewatch verify theirs/model.pt
1 unverifiable
Permission denied

a configuration of another user:
    middlewatch config check --config theirs/mw.toml
2 is not used
chown

a closed configuration of another user:
    {NO_RIGHTS} middlewatch config check --config theirs/mw.toml
2 theirs/mw.toml
chown

the state directory of another user:
    middlewatch start --state-dir theirs
4 belongs to user 1234
--state-dir

a daemon of another user:
    {NO_RIGHTS} middlewatch status --state-dir theirs
3 Permission denied
sudo

a state directory that is read-only:
    {READ_ONLY} middlewatch start --state-dir empty/state
2 Read-only file system
--state-dir

a log on a disk that is read-only:
    {READ_ONLY} middlewatch run --log empty/train.log -- python train.py
2 Read-only file system
--log

a state directory on a full disk:
    {FULL} middlewatch alert add json://localhost/secret --state-dir empty
2 No space left on device
make room

a mirror to a disk that is read-only:
    {READ_ONLY} middlewatch mirror --dir good --to empty
1 FAILED
mounted read-only
""")
