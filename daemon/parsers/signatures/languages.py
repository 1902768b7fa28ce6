"""Signatures of uncaught errors of programs that are not Python.

Trainers in C++, Rust, Go, Java and Scala, Julia, R and Lua end with a message of their own
language. They mean that the program ended with an uncaught error.
"""

from __future__ import annotations

from .form import Signature

LANGUAGES: tuple[Signature, ...] = (
    Signature(
        "cpp-terminate",
        "python_exception",
        r"terminate called after throwing an instance of '(?!gloo::|std::bad_alloc)(?P<exception>[^']{1,200})'"
        r"|terminate called without an active exception"
        r"|^terminate called recursively",
        role="cascade",
        source="libstdc++ vterminate.cc, libc++abi: the next line says what it was, if anything",
    ),
    Signature(
        "cpp-uncaught",
        "python_exception",
        r"libc\+\+abi(?:\.dylib)?: terminating (?:with|due to) uncaught exception",
        source="libc++abi",
    ),
    Signature(
        "cpp-what",
        "python_exception",
        r"^\s{0,4}what\(\):\s{1,3}(?!.{0,300}(?:gloo|NCCL|nccl|std::bad_alloc))(?P<message>\S.*)",
        source="libstdc++ vterminate.cc",
    ),
    Signature(  # caffe, tensorflow, jax
        "fatal-check",
        "python_exception",
        r"(?:^|\s)F\d{4} \d\d:\d\d:\d\d\.\d+ .{1,120}\] (?P<message>Check failed.+)"
        r"|\bF (?:external/|tensorflow/|xla/|tsl/|jaxlib/)\S+:\d+\] (?P<message_tf>.+)"
        r"|^\*\*\* Check failure stack trace: \*\*\*",
        source="glog logging.cc, tsl platform/default/logging.cc",
    ),
    Signature(
        "c-assert",
        "python_exception",
        r"^\S{1,200}: \S{1,200}:\d+: .{1,400}: Assertion [`'](?P<message>.{1,300})' failed\.",
        source="glibc assert.c",
    ),
    Signature(
        "rust-panic",
        "python_exception",
        r"^thread '(?P<thread>[^']{0,100})'(?: \(\d+\))? panicked at (?P<message>.*)",
        source="Rust std panicking.rs",
    ),
    Signature(
        "go-panic",
        "python_exception",
        r"^panic: (?P<message>\S.*)"
        r"|^fatal error: (?P<message_rt>all goroutines are asleep"
        r"|concurrent map"
        r"|runtime: (?!out of memory)"
        r"|stack overflow"
        r"|unexpected signal)",
        source="Go runtime panic.go",
    ),
    Signature(
        "java-uncaught",
        "python_exception",
        r'^Exception in thread "(?P<thread>[^"]{0,200})" (?P<exception>(?!java\.lang\.OutOfMemoryError)(?:[\w$]+\.)+[\w$]+)(?::\s(?P<message>.*))?|\borg\.apache\.spark\.SparkException: Job aborted',
        source="java.lang.ThreadGroup, Spark DAGScheduler",
    ),
    Signature(
        "julia-error",
        "python_exception",
        r"^ERROR: LoadError: (?P<message>.*)"
        r"|^ERROR: (?P<exception>(?:Method|UndefVar|Bounds|Argument|Inexact|Type)Error"
        r"|DimensionMismatch"
        r"|TaskFailedException)\b",
        source="Julia base/client.jl",
    ),
    Signature(
        "r-error",
        "python_exception",
        r"^Error in (?P<where>[\w.$:]+[(\[].{0,200}?) ?: ?(?P<message>.*)",
        source="R errors.c",
    ),
    Signature(
        "r-halted",
        "python_exception",
        r"^Execution halted\s*$",
        role="cascade",
        source="Rscript, after the error itself",
    ),
    Signature(  # torch7
        "lua-error",
        "python_exception",
        r"^(?:\S*/)?(?:lua|luajit|qlua): (?P<message>\S.*:\d+: .*|not enough memory)",
        source="Lua lua.c",
    ),
    Signature(
        "ruby-uncaught",
        "python_exception",
        r"^\S{1,200}\.rb:\d+:in [`'].{1,200}': (?P<message>.+) \((?P<exception>[A-Z]\w*(?:::\w+)*)\)$",
        source="Ruby error.c: the last words of a program",
    ),
    Signature(
        "fortran-runtime",
        "python_exception",
        r"^(?:Fortran runtime error|forrtl: severe \(\d+\)): (?P<message>\S.*)",
        source="libgfortran runtime/error.c, Intel libifcore",
    ),
    Signature(
        "php-uncaught",
        "python_exception",
        r"^(?:PHP )?Fatal error: {1,2}Uncaught (?P<exception>[\w\\]+)(?:: (?P<message>.*))?",
        source="PHP Zend/zend_exceptions.c",
    ),
    Signature(
        "dotnet-unhandled",
        "python_exception",
        r"^Unhandled [Ee]xception[.:] (?P<exception>[A-Z][\w.]+)(?:: (?P<message>.*))?",
        source=".NET runtime, Mono",
    ),
    Signature(
        "ocaml-uncaught",
        "python_exception",
        r"^Fatal error: exception (?P<message>\S.*)",
        source="OCaml runtime/printexc.c",
    ),
    Signature(
        "go-signal",
        "process_killed",
        r"^SIGQUIT: quit$",
        source="Go runtime/signal_unix.go: a dump of all goroutines, after a signal from outside",
    ),
)
