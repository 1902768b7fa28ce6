"""Signatures of programs that never started: arguments, modules, commands, images, builds.

Wordings: cpython, argparse, click, absl, hydra, HfArgumentParser, shells, environment
modules, conda, Slurm, MPI, docker, Apptainer, Kubernetes, PyTorch extensions.
"""

from __future__ import annotations

from .form import Signature

START: tuple[Signature, ...] = (
    Signature(
        "python-start",
        "launch_error",
        r"(?:^|[\]\s])(?:ModuleNotFoundError|ImportError): (?!.{0,120}(?i:falling back|fallback|ignor|skipp|optional))"
        r"|^\S*python[\d.]*(?:\.exe)?: (?:Error while finding module specification|No module named )"
        r"|can't (?:open file '[^']*': \[Errno \d+\]|find '__main__' module)"
        r"|(?:^|\s)OSError: \S+\.so[.\d]*: cannot open shared object"
        r"|\b(?:pkg_resources\.\w*(?:DistributionNotFound|VersionConflict)|PackageNotFoundError): "
        r"|(?:^|\s)(?:SyntaxError|IndentationError|TabError): ",
        source="cpython Modules/main.c, Lib/runpy.py, importlib",
    ),
    Signature(
        "arguments",
        "launch_error",
        r"\.py: error: "
        r"|^(?:[\w./-]+: )?error: (?:unrecognized arguments"
        r"|the following arguments are required"
        r"|argument \S+: "
        r"|ambiguous option)"
        r"|^(?:\w[\w.-]*: )?error: (?:unrecognized arguments|the following arguments|argument |Parser key)"
        r"|\b[Uu]nknown command line flag .\w"
        r"|^Error: (?:No such option"
        r"|Missing (?:option|argument)"
        r"|Invalid value for"
        r"|Got unexpected extra argument"
        r"|No such command)"
        r"|\bFATAL Flags parsing error"
        r"|^ERROR: Could not consume arg: "
        r"|are not used by the HfArgumentParser"
        r"|^Could not override '"
        r"|^You must specify '.{1,40}', e\.g"
        r"|^In '.{1,60}': Could not (?:find|load) '"
        r"|^Missing mandatory value: "
        r"|(?:^|\s)(?:hydra|omegaconf)\.errors\.\w+: "
        r"|(?:^|\s)yaml\.\w+\.(?:Scanner|Parser|Constructor|Composer|Reader)Error\b"
        r"|(?:^|\s)(?:tomllib|toml|tomli)\.\w*DecodeError\b"
        r"|^│ (?:No such option"
        r"|Missing (?:option|argument|parameter)"
        r"|Invalid value for"
        r"|Got unexpected extra argument"
        r"|No such command)\b"
        r"|^(?:\S+: )?(?:FileNotFoundError|OSError|IOError): \[Errno 2\] No such file or directory: '\S+\.(?:ya?ml|toml|ini|cfg|conf)'",
        source="cpython argparse, click, absl.flags, hydra, fire, transformers HfArgumentParser",
    ),
    Signature(
        "launcher-missing",
        "launch_error",
        r"(?:^|: )(?:line \d+: )?(?:python[\d.]*"
        r"|torchrun"
        r"|deepspeed"
        r"|accelerate"
        r"|mpi(?:run|exec)"
        r"|srun"
        r"|horovodrun"
        r"|colossalai"
        r"|llamafactory-cli"
        r"|swift"
        r"|composer"
        r"|lightning"
        r"|litgpt"
        r"|uv"
        r"|poetry"
        r"|conda"
        r"|singularity"
        r"|apptainer"
        r"|docker)(?:: [Cc]ommand not found|：未找到命令|: 未找到命令|: Befehl nicht gefunden)"
        r"|\bzsh: command not found: (?:python|torchrun|deepspeed|accelerate|mpirun|srun)"
        r"|/usr/bin/env: .{1,30}: No such file"
        r"|bad interpreter: No such file"
        r"|cannot execute binary file"
        r"|\bexec format error\b",
        source="bash, zsh, env, linux execve",
    ),
    Signature(
        "environment-missing",
        "launch_error",
        r"Lmod has detected the following error"
        r"|ModuleCmd_Load\.c\(\d+\):ERROR"
        r"|Unable to locate a modulefile"
        r"|The following module\(s\) are unknown"
        r"|\bEnvironmentNameNotFound\b"
        r"|Could not find conda environment"
        r"|EnvironmentLocationNotFound"
        r"|Not a conda environment",
        role="confirmation",
        source="Lmod, environment modules, conda: a script that goes on reports what it lacked",
    ),
    Signature(
        "job-start",
        "launch_error",
        r"^(?:sbatch|srun|salloc): fatal: "
        r"|^(?:sbatch|srun|salloc): (?:error: )?(?:Invalid "
        r"|Batch job submission failed"
        r"|Unable to (?:create step|allocate resources|confirm allocation|open file)"
        r"|task \d+ launch failed"
        r"|Task launch for \S+ failed"
        r"|error: invalid"
        r"|Job submit/allocate failed)"
        r"|slurmstepd: error: execve\(\)"
        r"|execve\(\): \S+: No such file"
        r"|error while loading shared libraries"
        r"|There are not enough slots available in the system"
        r"|(?:mpirun|mpiexec|prterun) (?:was unable to (?:launch|start|find)|could not (?:find|access)) "
        r"|ORTE was unable to reliably start"
        r"|\bssh exited with exit code 255"
        r"|^pdsh@\S+: \S+: ",
        source="slurm, glibc ld.so, Open MPI help files, pdsh",
    ),
    Signature(
        "container-start",
        "launch_error",
        r"docker: Error response from daemon: (?!could not select device)"
        r"|OCI runtime (?:create|exec) failed"
        r"|executable file not found in \$PATH"
        r"|\b(?:ErrImagePull"
        r"|ImagePullBackOff"
        r"|CreateContainerConfigError"
        r"|CreateContainerError"
        r"|RunContainerError"
        r"|InvalidImageName)\b"
        r"|^FATAL:\s+(?:[Cc]ould not open image|[Uu]nable to|[Ww]hile \w+ing |image |container creation failed)"
        r"|\bpyxis: (?:failed to|couldn.t|could not|child \d+ failed)"
        r"|required plugin spank_\w+\.so: \S+ failed"
        r"|[Ff]ailed to pull image \"",
        source="docker, runc, kubelet, Apptainer",
    ),
    Signature(
        "build-failed",
        "launch_error",
        r"\bError building extension '"
        r"|Error compiling objects for extension"
        r"|^error: (?:subprocess-exited-with-error|command '.{1,200}' failed|metadata-generation-failed)"
        r"|^ERROR: (?:Could not build wheels"
        r"|Failed building wheel"
        r"|No matching distribution found"
        r"|Could not find a version that satisfies)"
        r"|ninja: build stopped: subcommand failed"
        r"|^nvcc fatal +: "
        r"|The detected CUDA version \(\S+\) mismatches"
        r"|Ninja is required to load C\+\+ extensions"
        r"|CUDA_HOME environment variable is not set\. Please",
        source="torch.utils.cpp_extension, ninja, pip, setuptools",
    ),
    Signature(
        "command-failed",
        "launch_error",
        r"^(?:\S+: )?(?:line \d+: )?(?:[\w./-]+|\$'\\r'): [Cc]ommand not found"
        r"|^\S*(?:bash|sh): (?:line \d+: )?\S+: (?:No such file or directory|Permission denied)"
        r"|slurm_script: line \d+: .{1,120}: (?:No such file|command not found|unbound variable|Permission denied)"
        r"|^\S+: line \d+: (?:syntax error near unexpected token"
        r"|\w+: unbound variable"
        r"|.{1,80}: (?:No such file or directory|Permission denied|Is a directory)$)"
        r"|^CommandNotFoundError"
        r"|slurmstepd: error: couldn't chdir to",
        role="confirmation",
        severity="warning",
        fatal=False,
        source="bash, conda, slurm: a script goes on after them unless it was told not to",
    ),
)
