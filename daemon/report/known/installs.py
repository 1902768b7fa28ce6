"""Messages about versions, packages, compilers and settings."""

from __future__ import annotations

ROWS: tuple[tuple[str, str], ...] = (
    (
        r"operator torchvision::\w+ does not exist|torchvision.{0,80}(?:undefined symbol|Couldn't load custom C\+\+ ops)",
        ("torchvision was built for another torch: install the two that belong together, from the same index "
        "(`python -m pip show torch torchvision`), and try `python -c 'import torchvision'`"),
    ),
    (
        r"numpy\.(?:dtype|ndarray) size changed|compiled using NumPy 1|_ARRAY_API not found|undefined symbol|GLIBC(?:XX)?_[\d.]+' not found",
        "a compiled package does not fit the others here: `python -m pip check`, and install it again for these versions (it is the one that the last frames name)",
    ),
    (
        r"cannot import name '(?P<name>\w{1,80})' from '(?P<module>[\w.]{1,80})'",
        "{module} of this version has no {name}: see which one is installed and which one the program wants (`python -m pip show` its package), and install that",
    ),
    (
        r"got an unexpected keyword argument '(?P<name>\w{1,80})'",
        ("`{name}` is not known to the installed version: see which one it is (`python -m pip show` its package), and install the one the "
        "program was written for, or leave the argument out or rename it"),
    ),
    (
        r"module '(?P<module>[\w.]{1,80})' has no attribute '(?P<name>\w{1,80})'",
        ("{module} of this version has no {name}: install the version the program was written for, or use what has replaced it; a file "
        "of your own with the same name hides it as well"),
    ),
    (
        r"Library not loaded: (?:@rpath/)?(?P<name>[\w./+-]{1,200})",
        "install the library {name}, which is not on this machine (macOS: `brew install libomp` for OpenMP), and start again",
    ),
    (
        r"lib(?:c10|torch|torchaudio|torchvision|nvrtc|cudart)\w{0,20}\.(?:so|dll|dylib)[.\d]{0,12}: cannot open shared object file",
        ("install torch and what was built for it (torchaudio, torchvision, flash-attn) again, from one index and of versions that belong together "
        "(`python -m pip show torch torchaudio torchvision`): one was built for CUDA and the other for the CPU, or for another torch"),
    ),
    (
        r"(?P<name>lib[\w.+-]{1,80}\.so[.\d]{0,12}): cannot open shared object file",
        "install the package that has {name} (`apt-file search {name}`, or the module of the cluster), or name its folder in LD_LIBRARY_PATH; start again",
    ),
    (
        r"DLL load failed while importing (?P<name>\w{1,80})",
        "a library that {name} needs is not on this Windows machine: install the Visual C++ Redistributable, and {name} again for this Python",
    ),
    (
        r"(?:requires|needs|using) (?:the )?[`'\"]?(?:[\w-]{2,60})[`'\"]? (?:library |package |to be installed)?but (?:it |this )?(?:was|is|could) not (?:found|installed|be found)|[Mm]issing optional dependency '(?:[\w.-]{1,60})'",
        "install the package that the message names into the Python that runs this (`python -m pip install NAME`), and start again",
    ),
    (
        r"(?:Failed to find C compiler|(?:gcc|g\+\+|cc|clang)[`'\"]?:? (?:command )?not found|No such file or directory: '(?:gcc|g\+\+|cc|nvcc|ninja)'|Ninja is required|Python\.h: No such file)",
        "install what compiles (`apt-get install -y build-essential python3-dev ninja-build`), or run without compiled parts (`TORCH_COMPILE_DISABLE=1`)",
    ),
    (
        r"CUDA_HOME (?:environment variable )?(?:is not set|does not exist)|CUDA_HOME.{0,40}not.{0,10}(?:set|found)|nvcc.{0,40}not found",
        "the package wants to compile for CUDA and finds no toolkit: install a built version of it for this torch, or the toolkit, and set CUDA_HOME",
    ),
    (
        r"does not match the version torch was compiled with|CUDA version mismatch|detected CUDA version .{0,40}mismatches",
        "bring the CUDA of this box and of torch together (`nvcc --version; python -c 'import torch; print(torch.version.cuda)'`): install the torch of that version",
    ),
    (
        r"Initializing libiomp5|multiple copies of the OpenMP runtime|OMP: Error #15",
        "two OpenMP libraries are in one process: install torch and NumPy from one source (both pip or both conda); `KMP_DUPLICATE_LIB_OK=TRUE` only helps for the moment",
    ),
    (
        r"Missing mandatory value: (?P<name>[\w.]{1,100})",
        "the setting {name} has no value: give it on the command line (`{name}=VALUE`) or in the configuration",
    ),
    (
        r"Could not override '(?:[\w.+~]{1,100})'|Key '(?:[\w.]{1,100})' is not in struct|ConfigAttributeError|InterpolationKeyError",
        "compare the name of the setting with the configuration (`--cfg job` prints it): spelled differently, in another group, or new (`+name=VALUE` adds one)",
    ),
    (
        r"(?:Cannot find primary config|Primary config (?:directory|module) .{0,120}not found|Could not find '[\w/.-]{1,100}'\s*(?:Available options|\n|$))",
        "list the folder of the configurations and compare the name: it is relative to the file with `@hydra.main`, and has no .yaml at its end",
    ),
    (
        r"yaml\.(?:scanner\.ScannerError|parser\.ParserError)|mapping values are not allowed here|found character '\\t'|could not find expected ':'",
        "the configuration is no valid YAML: look at the line that the message names for a tab, a missing blank after a colon, or a quote that is not closed",
    ),
    (
        r"\b(?:SyntaxError|IndentationError|TabError)\b",
        "look at the line that it names, and the one before it: `python -m py_compile FILE` shows it without a run; a conflict of git, or a file for a newer Python",
    ),
    (
        r"name '(?P<name>\w{1,80})' is not defined",
        "`{name}` is used before anything is called so: look for a missing import, a spelling, or a cell that was not run",
    ),
    (
        r"(?:local variable '(?:\w{1,80})' referenced before assignment|cannot access local variable '(?:\w{1,80})')",
        "look at the way there: the variable gets its value in a branch or a loop that was not entered (an empty loader, an exception that was caught)",
    ),
    (
        r"missing (?:\d+) required (?:positional |keyword-only )?arguments?: (?P<names>'[\w', and]{1,200})",
        "give the call what it misses, {names}: the function was changed, or another version of the library wants more",
    ),
    (
        r"takes (?:from )?\d+ (?:to \d+ )?positional arguments? but \d+ (?:was|were) given|got multiple values for argument",
        "compare the call with what the function takes (`help(NAME)`): another version of the library, or an argument that has to be named now",
    ),
    (
        r"object of type 'NoneType' has no len|'NoneType' object (?:is not \w+|has no attribute|does not support)|(?:unsupported operand|not supported between).{0,80}NoneType",
        "print what is None there, and look at where it comes from: a function without a return, a search that found nothing, a setting that was not given",
    ),
    (
        r"'(?P<type>[\w.]{1,60})' object has no attribute '(?P<name>\w{1,80})'",
        "{type} has no {name} in the installed version, or the object is another one than the program expects: print its type at that line, and the version (`python -m pip show` its package)",
    ),
    (
        r"'(?:[\w.]{1,60})' object is not (?:callable|iterable|subscriptable)|(?:list|string|tuple) indices must be integers|unhashable type|unsupported operand type\(s\)|must be (?:str|int|real number), not|can only concatenate",
        "print the type and the value of what is used there: it is another one than the program expects (a text from a configuration, a list for one value, a name that was used twice)",
    ),
    (
        r"maximum recursion depth exceeded",
        "look at which function calls itself in the repeating frames: an object that contains itself, a property that reads itself, a wrapper put on twice",
    ),
    (
        r"PermissionError: \[Errno 13\]|Permission denied: '|\[WinError 5\]",
        "compare who runs it with whose file it is (`id -un; ls -ld PATH`): a folder of root or of another container's user; write to one of your own, or give it away (`chown`)",
    ),
    (
        r"\[WinError 32\]|being used by another process",
        "find the program that has the file open (a viewer, a virus scanner, a second run), and close it",
    ),
    (
        r"FileExistsError|already exists and is not empty|output directory .{0,120}already exists",
        "look at what is in that folder: an earlier run of yours. Resume from it, or name another folder; overwrite it only if nothing in it is needed",
    ),
    (
        r"IsADirectoryError|NotADirectoryError",
        "look at the path that the message names (`ls -ld PATH`): a folder stands where a file is expected, or the other way round",
    ),
    (
        r"Errno 36|File name too long",
        "shorten the name that is put together (a run name with all its settings): 255 bytes are the limit for one part of a path",
    ),
)  # fmt: skip
