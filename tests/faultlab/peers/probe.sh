#!/bin/sh
# What one hour of shell gives a monitor that knows nothing of training runs: facts about one
# run, in the format of Prometheus. The tuned configurations of all peers that can take a
# script share it, so that none of them is better off.
#
#   probe.sh NAME PIDFILE LOG [FOLDER...]             print the facts
#   probe.sh --judge FACTS NAME PIDFILE LOG [FOLDER...]
#       look at the facts that match the pattern FACTS, print what is wrong, fail if anything is
judge=
[ "$1" = --judge ] && { judge=$2; shift 2; }
name=$1 pidfile=$2 log=$3
shift 3

pid=$(cat "$pidfile" 2>/dev/null)
now=$(date +%s)
fact() { echo "$1{run=\"$name\"} $2"; }

facts() {
    state=$(sed 's/.*) //; s/ .*//' "/proc/$pid/stat" 2>/dev/null)
    case $state in '' | Z | X) fact run_alive 0 ;; *) fact run_alive 1 ;; esac

    changed=$(stat -c %Y "$log" 2>/dev/null) && fact run_log_age_seconds $((now - changed))
    fact run_log_errors "$(tail -c 200000 "$log" 2>/dev/null |
        grep -cE 'Traceback \(most recent|CUDA out of memory|[Ss]egmentation fault|NCCL (error|WARN)|Xid')"
    fact run_log_nan "$(tail -c 200000 "$log" 2>/dev/null |
        grep -ciE 'loss["'"'"']?[ =:]+(nan|[-+]?inf)')"

    newest=$(find "$@" -type f -newer "$pidfile" -printf '%T@\n' 2>/dev/null | sort -n | tail -1)
    [ -n "$newest" ] && fact run_checkpoint_age_seconds $((now - ${newest%.*}))

    # The cgroup of the run, of either version; its path outlives the process.
    [ -e "$pidfile.group" ] || sed -n 's/^[0-9]*:memory:/memory/p; s/^0:://p' \
        "/proc/$pid/cgroup" >"$pidfile.group" 2>/dev/null
    while read -r path; do
        group=/sys/fs/cgroup/$path
        used=$(cat "$group/memory.usage_in_bytes" "$group/memory.current" 2>/dev/null)
        limit=$(cat "$group/memory.limit_in_bytes" "$group/memory.max" 2>/dev/null)
        kills=$(sed -n 's/^oom_kill //p' "$group/memory.oom_control" "$group/memory.events" 2>/dev/null)
        [ -n "$kills" ] && fact run_oom_kills "$kills" && break
    done <"$pidfile.group"
    case $limit in
    '' | max | ????????????????*) ;;
    *) fact run_memory_percent $((used * 100 / limit)) ;;
    esac

    if command -v nvidia-smi >/dev/null; then
        cards=$(nvidia-smi --query-gpu=index,ecc.errors.uncorrected.volatile.total \
            --format=csv,noheader,nounits 2>/dev/null) || cards=
        fact run_gpus "$(echo "$cards" | grep -c '^[0-9]')"
        fact run_gpu_ecc "$(echo "$cards" | awk -F, '{ sum += $2 } END { print sum + 0 }')"
    fi
}

if [ -z "$judge" ]; then
    facts "$@"
    exit
fi

# Compared with the first look; one file per question, because several may be asked at a time.
first=$pidfile.first.$judge
facts "$@" | grep -E "^run_($judge)" >"$first.now"
[ -e "$first" ] || cp "$first.now" "$first"
awk -v name="$name" '
    { key = $1; sub(/\{.*/, "", key) }
    FILENAME == ARGV[1] { first[key] = $2; next }
    key == "run_log_errors" && $2 > 0 { wrong = wrong "the log has an error; " }
    key == "run_log_nan" && $2 > 0 { wrong = wrong "the log says nan or inf; " }
    key == "run_oom_kills" && $2 > first[key] { wrong = wrong "the kernel killed for memory; " }
    key == "run_memory_percent" && $2 >= 90 { wrong = wrong "memory of the cgroup at " $2 " %; " }
    key == "run_checkpoint_age_seconds" && $2 > 1800 { wrong = wrong "newest checkpoint is " $2 " s old; " }
    key == "run_gpus" && $2 < first[key] { wrong = wrong "GPUs: " $2 " of " first[key] "; " }
    key == "run_gpu_ecc" && $2 > first[key] { wrong = wrong "uncorrected ECC errors: " $2 "; " }
    END { if (wrong) { print name ": " wrong; exit 1 } }
' "$first" "$first.now"
