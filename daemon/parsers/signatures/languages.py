"""Signatures of uncaught errors of programs that are not Python.

Trainers in C++, Rust, Go, Java and Scala, Julia, R and Lua end with a message of their own
language. They are told as what they are: the program ended with an error nobody caught.
"""

from __future__ import annotations

from .form import Signature

LANGUAGES: tuple[Signature, ...] = (
    Signature(
        "cpp-terminate",
        "python_exception",
        r"terminate called after throwing an instance of '(?!gloo::)(?P<exception>[^']{1,200})'|libc\+\+abi(?:\.dylib)?: terminating (?:with|due to) uncaught exception|terminate called without an active exception|^terminate called recursively",
        ("terminate called", "terminating with uncaught", "terminating due to uncaught"),
        (
            "terminate called after throwing an instance of 'c10::Error'",
            "libc++abi: terminating due to uncaught exception of type std::runtime_error: no data",
        ),
        (
            "terminating workers",
            "terminate callback registered",
            "terminate called after throwing an instance of 'gloo::IoException'",
        ),
        source="libstdc++ vterminate.cc, libc++abi",
    ),
    Signature(
        "fatal-check",
        "python_exception",
        r"(?:^|\s)F\d{4} \d\d:\d\d:\d\d\.\d+ .{1,120}\] (?P<message>Check failed.+)|\bF (?:external/|tensorflow/|xla/|tsl/|jaxlib/)\S+:\d+\] (?P<message_tf>.+)|^\*\*\* Check failure stack trace: \*\*\*",
        (
            "] check failed",
            "check failure stack trace",
            " f external/",
            " f tensorflow/",
            " f xla/",
            " f tsl/",
            " f jaxlib/",
        ),
        (
            "F0102 03:04:05.678901  4711 solver.cpp:12] Check failed: net_ != NULL",
            "2026-01-02 03:04:05.678901: F tensorflow/core/framework/tensor.cc:12] Check failed: NDIMS == dims() (1 vs. 2)",
            "*** Check failure stack trace: ***",
        ),
        ("I0102 03:04:05.678901  4711 solver.cpp:12] Check failed rows: 0", "a.cc:12 compiled"),
        frameworks=("caffe", "tensorflow", "jax"),
        source="glog logging.cc, tsl platform/default/logging.cc",
    ),
    Signature(
        "c-assert",
        "python_exception",
        r"^\S{1,200}: \S{1,200}:\d+: .{1,400}: Assertion [`'](?P<message>.{1,300})' failed\.",
        (": assertion `", ": assertion '"),
        ("train: src/net.cpp:12: void Net::forward(int): Assertion `n > 0' failed.",),
        (
            "Loss.cu:250: nll_loss: block: [0,0,0], thread: [5,0,0] Assertion `t >= 0 && t < n` failed.",
        ),
        source="glibc assert.c",
    ),
    Signature(
        "rust-panic",
        "python_exception",
        r"^thread '(?P<thread>[^']{0,100})'(?: \(\d+\))? panicked at (?P<message>.*)",
        ("' panicked at", ") panicked at"),
        (
            "thread 'main' panicked at src/train.rs:12:5:",
            "thread '<unnamed>' panicked at 'index out of bounds', src/data.rs:3",
            "thread 'main' (4711) panicked at src/train.rs:12:5:",
        ),
        ("the crowd panicked at noon",),
        source="Rust std panicking.rs",
    ),
    Signature(
        "go-panic",
        "python_exception",
        r"^panic: (?P<message>\S.*)|^fatal error: (?P<message_rt>all goroutines are asleep|concurrent map|runtime: |stack overflow|unexpected signal|out of memory$)",
        ("panic: ", "fatal error: "),
        (
            "panic: runtime error: index out of range [3] with length 3",
            "fatal error: all goroutines are asleep - deadlock!",
        ),
        ("Kernel panic: never", "a.cu:1:10: fatal error: net.h: No such file or directory"),
        source="Go runtime panic.go",
    ),
    Signature(
        "java-uncaught",
        "python_exception",
        r'^Exception in thread "(?P<thread>[^"]{0,200})" (?P<exception>(?:[\w$]+\.)+[\w$]+)(?::\s(?P<message>.*))?|\borg\.apache\.spark\.SparkException: Job aborted',
        ('exception in thread "', "sparkexception: job aborted"),
        (
            'Exception in thread "main" java.lang.IllegalStateException: no workers',
            "org.apache.spark.SparkException: Job aborted due to stage failure: Task 3 in stage 2.0 failed 4 times",
        ),
        ("Exception in thread Thread-3 (_pin_memory_loop):",),
        source="java.lang.ThreadGroup, Spark DAGScheduler",
    ),
    Signature(
        "julia-error",
        "python_exception",
        r"^ERROR: LoadError: (?P<message>.*)|^ERROR: (?P<exception>(?:Method|UndefVar|Bounds|Argument|Inexact|Type)Error|DimensionMismatch|TaskFailedException)\b",
        (
            "error: loaderror: ",
            "error: methoderror",
            "error: undefvarerror",
            "error: boundserror",
            "error: argumenterror",
            "error: inexacterror",
            "error: typeerror",
            "error: dimensionmismatch",
            "error: taskfailed",
        ),
        (
            "ERROR: LoadError: MethodError: no method matching loss(::Nothing)",
            "ERROR: UndefVarError: `model` not defined",
        ),
        ("ERROR: could not reach the mirror, trying the next", "[ERROR] ValueError rate 0.1"),
        source="Julia base/client.jl",
    ),
    Signature(
        "r-error",
        "python_exception",
        r"^Error in (?P<where>[\w.$:]+\(.{0,200}?) ?: ?(?P<message>.*)|^Execution halted\s*$",
        ("error in ", "execution halted"),
        (
            "Error in fit(model, x) : object 'x' not found",
            "Error in xgb.train(params) : ",
            "Execution halted",
        ),
        ("Error in sys.excepthook:", "Error in the last batch: 0.03"),
        source="R errors.c, Rscript",
    ),
    Signature(
        "lua-error",
        "python_exception",
        r"^(?:\S*/)?(?:lua|luajit|qlua): (?P<message>\S.*:\d+: .*|not enough memory)",
        ("lua: ", "luajit: "),
        ("/opt/torch/bin/luajit: train.lua:123: attempt to index a nil value",),
        ("path: out/a.lua:3: kept", "lua: enabled"),
        frameworks=("torch7",),
        source="Lua lua.c",
    ),
)
