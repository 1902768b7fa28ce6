# Sourced by the scripts beside it: finds a Python and keeps virtual environments up to date.
# shellcheck shell=bash

# Print the path of a Python that can make a virtual environment, or say what is missing.
# Only $PYTHON is looked at when it is set.
find_python() {
    local name path seen="" found=""
    for name in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.10 python}; do
        path=$(command -v "$name" 2>/dev/null) || continue
        # Run it: a version manager's shim is found on PATH even when nothing is behind it.
        if ! "$path" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
            seen+=" $name"
            continue
        fi
        if "$path" -c 'import ensurepip, venv' 2>/dev/null; then
            printf '%s\n' "$path"
            return 0
        fi
        [ -n "$found" ] || found=$path
    done
    {
        if [ -n "$found" ]; then
            echo "$found cannot make a virtual environment: its venv module is not installed."
            echo "On Debian and Ubuntu:  apt-get install python3-venv"
        else
            echo "Python 3.10 or newer is needed${seen:+; too old or broken here:$seen}."
            echo "On Debian 12, Ubuntu 22.04 or newer:  apt-get install python3 python3-venv"
        fi
        echo "To use another Python:  PYTHON=/path/to/python3 $0"
    } >&2
    return 1
}

# Where PyTorch has its builds for processors only. PyPI has none of them.
torch_for_processors=https://download.pytorch.org/whl/cpu

# environment DIR PIP-ARGUMENTS…
# Make or update the virtual environment DIR by `pip install PIP-ARGUMENTS`. Does nothing when
# pyproject.toml and the arguments are those of the last time; waits for another script that
# is at it. Ends with 3 when the torch that was asked for is not to be had here.
environment() {
    local dir=$1 want stamp=$1/.up-to-date
    shift
    want="$* $(cksum <pyproject.toml) $PWD"
    mkdir -p "$dir"
    (
        flock 9
        if [ -x "$dir/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$want" ]; then
            exit 0
        fi
        rm -f "$stamp"
        if ! "$dir/bin/python" -m pip --version >/dev/null 2>&1; then
            python=$(find_python) || exit 1
            "$python" -m venv "$dir" || exit 1
        fi
        echo "installing into $dir (a minute or two the first time)"
        # Dependency groups came with pip 25.1.
        "$dir/bin/python" -m pip install -qq --disable-pip-version-check "pip>=25.1" || exit 1
        # By itself, so that nothing else is looked for there; a folder of wheels that pip knows of
        # ($PIP_FIND_LINKS) does as well. Asked twice, not six times.
        if [[ " $* " == *" --group torch "* ]]; then
            "$dir/bin/python" -m pip install -qq --disable-pip-version-check --no-deps \
                --index-url "$torch_for_processors" --retries 1 --group torch || exit 3
        fi
        "$dir/bin/python" -m pip install -qq --disable-pip-version-check "$@" || exit 1
        # litgpt asks for a huggingface_hub of last year, which transformers 5 cannot use. What
        # the tests need of it (its models, its way of saving) does without.
        if [[ " $* " == *" --group frameworks "* ]]; then
            "$dir/bin/python" -m pip install -qq --disable-pip-version-check --no-deps \
                litgpt==0.5.13 || exit 1
        fi
        printf '%s' "$want" >"$stamp"
    ) 9<"$dir"
}
