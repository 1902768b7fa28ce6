"""Signatures of GPU memory, CUDA, its libraries, collectives and GPU hardware.

Wordings: PyTorch (c10, ATen, c10d), TensorFlow, JAX/XLA, NCCL, gloo, NVIDIA's kernel driver.
"""

from __future__ import annotations

from .signature import Signature

GPU: tuple[Signature, ...] = (
    Signature(
        "cuda-oom-handled",
        "cuda_oom",
        r"(?i)(?:out of memory|\bOOM\b|OutOfMemory).{0,80}(?:retry|retrying|skipping batch|skip this batch|reducing (?:the )?batch|halving|falling back)",
        ("out of memory", "oom", "outofmemory"),
        (
            "WARNING: ran out of memory, retrying batch",
            "CUDA out of memory caught, reducing batch size to 8",
        ),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",),
        severity="info",
        fatal=False,
    ),
    Signature(
        "cuda-oom",
        "cuda_oom",
        r"(?i)^(?!.{0,400}(?:retry|skipping batch|reducing (?:the )?batch|halving|falling back))"
        r".*?(?:(?:CUDA|HIP|XPU|NPU|MPS backend|MUSA) out of memory|CUDA error: out of memory|cudaErrorMemoryAllocation"
        r"|Cuda failure '?out of memory|\bCUDA_ERROR_OUT_OF_MEMORY|OutOfMemoryError: (?!Java|java)"
        r"|cuda runtime error \(2\)|cudaMalloc failed: out of memory|Out of memory error on GPU)"
        r"(?:.*?[Tt]ried to allocate (?P<requested>[\d.]+ ?[KMGT]i?B))?(?:.{0,20}GPU (?P<gpu>\d+))?",
        (
            "out of memory",
            "errormemoryallocation",
            "error_out_of_memory",
            "outofmemoryerror",
            "cuda runtime error",
        ),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79 GiB",
            "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.93 GiB total capacity)",
            "RuntimeError: CUDA error: out of memory",
            "RuntimeError: HIP out of memory. Tried to allocate 512.00 MiB",
            "THCudaCheck FAIL file=a.cu line=58 error=2 : cuda runtime error (2) : out of memory",
            "failed to allocate 11.90G (12777684992 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        ),
        (
            "slurm reports: task 0: Out Of Memory",
            "tip: set expandable_segments to avoid CUDA fragmentation",
            "CUDA out of memory caught, reducing batch size to 8",
            "Out of memory: Killed process 4711 (python3)",
        ),
    ),
    Signature(
        "xla-oom",
        "accel_oom",
        r"RESOURCE_EXHAUSTED: (?!.*(?:quota|[Nn]o space|message larger)).*(?:memory|allocat|hbm|HBM|bytes)"
        r"|[Rr]esource exhausted: (?:OOM|Out of memory)|OOM when allocating tensor|Ran out of memory in memory space"
        r"|Out of memory while trying to allocate|Allocator \(GPU_\d+_bfc\) ran out of memory trying to allocate(?!.*not a failure)",
        (
            "resource_exhausted",
            "resource exhausted",
            "oom when allocating",
            "ran out of memory",
            "out of memory while",
        ),
        (
            "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 123456 bytes.",
            "ResourceExhaustedError: OOM when allocating tensor with shape[64,512,512] and type float on GPU:0",
            "XlaRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 17.2G of 15.7G hbm.",
        ),
        (
            "Could not open events file: /tmp/tb: Resource exhausted: /tmp/tb",
            "ResourceExhaustedError: disk quota exceeded [Op:SaveV2]",
            "RESOURCE_EXHAUSTED: Received message larger than max",
        ),
        frameworks=("jax", "tensorflow"),
    ),
    Signature(
        "cuda-device-assert",
        "cuda_device_assert",
        r"device-side assert triggered|block: \[\d+,\d+,\d+\], thread: \[\d+,\d+,\d+\] Assertion|CUDA_ERROR_ASSERT",
        ("device-side assert", "], thread: [", "cuda_error_assert"),
        (
            "RuntimeError: CUDA error: device-side assert triggered",
            "Loss.cu:250: nll_loss: block: [0,0,0], thread: [5,0,0] Assertion `t >= 0 && t < n_classes` failed.",
        ),
        ("Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.",),
    ),
    Signature(
        "cuda-illegal-access",
        "cuda_illegal_access",
        r"illegal memory access was encountered|CUDA_ERROR_ILLEGAL_ADDRESS|CUDA error: misaligned address",
        ("illegal memory access", "error_illegal_address", "misaligned address"),
        (
            "RuntimeError: CUDA error: an illegal memory access was encountered",
            "CUDA_ERROR_ILLEGAL_ADDRESS: illegal",
        ),
        ("note: illegal memory accesses can be found with compute-sanitizer",),
    ),
    Signature(
        "cuda-launch-failure",
        "cuda_launch_failure",
        r"unspecified launch failure|CUDA_ERROR_LAUNCH_FAILED|CUDA error: (?:an illegal instruction|invalid program counter"
        r"|the launch timed out|invalid configuration argument|too many resources requested)",
        ("launch failure", "launch_failed", "cuda error: "),
        (
            "RuntimeError: CUDA error: unspecified launch failure",
            "RuntimeError: CUDA error: the launch timed out and was terminated",
        ),
        ("CUDA error handling is asynchronous", "RuntimeError: CUDA error: out of memory"),
    ),
    Signature(
        "cuda-ecc",
        "cuda_ecc",
        r"uncorrectable (?:ECC|NVLink) error|CUDA_ERROR_ECC_UNCORRECTABLE|double[- ]bit ECC error",
        ("uncorrectable", "ecc error"),
        (
            "RuntimeError: CUDA error: uncorrectable ECC error encountered",
            "CUDA_ERROR_ECC_UNCORRECTABLE: ecc",
        ),
        ("Volatile Uncorr. ECC 0", "ECC errors: none"),
    ),
    Signature(
        "cuda-unavailable",
        "cuda_unavailable",
        r"no CUDA-capable device is detected|CUDA driver version is insufficient|driver on your system is too old"
        r"|no kernel image is available|forward compatibility was attempted"
        r"|CUDA-capable device\(s\) is/are busy or unavailable|Unexpected error from cudaGetDeviceCount|failed call to cuInit: |No supported gpu backend found"
        r"|You requested gpu: .{0,40}[Bb]ut your machine only has|CUDA driver initialization failed|Torch not compiled with CUDA enabled|No CUDA GPUs are available|Found no NVIDIA driver on your system"
        r"|CUDA error: (?:invalid device ordinal|all CUDA-capable devices are busy|system not yet initialized|initialization error|unknown error)"
        r"|CUDA unknown error - this may be due|Failed to initialize NVML: |Attempting to deserialize object on a CUDA device but"
        r"|nvidia-container-cli: initialization error|couldn't communicate with the NVIDIA driver",
        (
            "no cuda",
            "cuda-capable",
            "cuda driver",
            "cuda enabled",
            "cuda error: ",
            "cuda unknown error",
            "cuda device but",
            "cudagetdevicecount",
            "initialize nvml",
            "kernel image",
            "nvidia driver",
            "nvidia-container-cli",
            "driver on your system",
            "forward compatibility",
            "call to cuinit",
            "gpu backend",
            "requested gpu",
        ),
        (
            "RuntimeError: No CUDA GPUs are available",
            "Failed to initialize NVML: Driver/library version mismatch",
            "RuntimeError: CUDA error: no kernel image is available for execution on the device",
            "AssertionError: Torch not compiled with CUDA enabled",
            "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected",
            "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized",
        ),
        ("CUDA available: True", "using 8 CUDA devices", "CUDA version 12.4, NVIDIA driver 550.54"),
    ),
    Signature(
        "cublas",
        "cublas_error",
        r"(?:error|Error|ERROR|failed|failure).{0,60}CUBLAS_STATUS_(?!SUCCESS)[A-Z_]+|CUBLAS_STATUS_(?!SUCCESS)[A-Z_]+ when calling"
        r"|cublas runtime error|Blas x?GEMM (?:Batched )?launch failed",
        ("cublas_status", "cublas runtime", "blas gemm", "blas xgemm"),
        (
            "InternalError: Blas GEMM launch failed : a.shape=(64, 8), b.shape=(8, 4), m=64, n=4, k=8",
            "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm`",
        ),
        ("checked CUBLAS_STATUS_SUCCESS", "enum CUBLAS_STATUS_NOT_INITIALIZED = 1"),
    ),
    Signature(
        "cudnn",
        "cudnn_error",
        r"cuDNN error: CUDNN_STATUS_(?!SUCCESS)|Could not create cudnn handle: CUDNN_STATUS|cudnn_?[sS]tatus .{0,20}CUDNN_STATUS_(?!SUCCESS)"
        r"|Unable to find a valid cuDNN algorithm|Failed to get convolution algorithm\. This is probably because cuDNN|was unable to find an engine to execute|cuDNN launch failure",
        ("cudnn", "unable to find an engine"),
        (
            "RuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR",
            "Could not create cudnn handle: CUDNN_STATUS_NOT_INITIALIZED",
        ),
        ("Loaded cuDNN version 8100", "[ RUN ] expects CUDNN_STATUS_EXECUTION_FAILED"),
    ),
    Signature(
        "nccl-watchdog-timeout",
        "nccl_timeout",
        r"[Cc]aught collective operation timeout(?:.*?OpType=(?P<collective>\w+))?"
        r"|Work(?:NCCL|HCCL)\(.*Timeout\(ms\)=\d+\) ran for \d+ milliseconds before timing out"
        r"|ProcessGroup[NH]CCL.{0,200}(?:[Hh]eartbeat monitor timed out|Collective operation timeout)"
        r"|HCCL.{0,200}[Tt]ime ?out|[Nn]otify (?:wait timeout|register times out)|[Gg]etting socket times out|\bNCCL timeout\b(?! *[=:])",
        (
            "caught collective",
            "before timing out",
            "heartbeat monitor",
            "operation timeout",
            "hccl",
            "wait timeout",
            "times out",
            "nccl timeout",
        ),
        (
            "[Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600009 milliseconds before timing out.",
        ),
        ("export NCCL_TIMEOUT=1800", "ProcessGroupNCCL initialization options: timeout: 10 min"),
        frameworks=("pytorch",),
    ),
    Signature(
        "nccl-fallout",
        "nccl_timeout",
        r"Some NCCL operations have failed or timed out|To avoid (?:these inconsistencies|data inconsistency), we are taking (?:the )?entire process down.*(?:timed? ?out|timing out)",
        ("some nccl operations", "entire process down"),
        (
            "Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, data may be bad.",
        ),
        ("All NCCL operations completed",),
        role="confirmation",
        severity="warning",
    ),
    Signature(
        "nccl-error",
        "nccl_error",
        r"\bNCCL (?:communicator )?[Ee]rror(?: in)?[ :]+(?!none|None)|\bunhandled (?:system|cuda) error, NCCL version|\bnccl(?:System|UnhandledCuda|Internal|Remote|InvalidUsage|InvalidArgument)Error"
        r"|DistBackendError|ProcessGroupNCCL.{0,120}(?:NCCL error|remote process exited|network error)"
        r"|NCCL WARN .{0,120}(?:Call to \w+ (?:failed|returned)|Cuda failure|[Uu]nhandled|Got completion .{0,60}with error|Connection closed by remote peer)",
        (
            "nccl error",
            "nccl communicator error",
            "error, nccl version",
            "ncclsystemerror",
            "ncclunhandledcudaerror",
            "ncclinternalerror",
            "ncclremoteerror",
            "ncclinvalid",
            "distbackenderror",
            "nccl warn",
            "processgroupnccl",
        ),
        (
            "RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:1269, unhandled system error, NCCL version 2.14.3",
            "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.",
            "node:1:1 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer host",
        ),
        (
            "node:1:2 [0] NCCL INFO Channel 00 : 0 1",
            "NCCL version 2.18.1+cuda12.1",
            "NCCL_DEBUG=WARN",
        ),
    ),
    Signature(
        "nccl-aborted",
        "nccl_error",
        r"NCCL communicator was aborted|NCCL watchdog thread terminated with exception|Process group watchdog thread terminated with exception",
        ("communicator was aborted", "watchdog thread terminated"),
        ("RuntimeError: NCCL communicator was aborted on rank 1.",),
        ("NCCL communicator was created",),
        role="cascade",
        severity="warning",
    ),
    Signature(
        "gloo-timeout",
        "gloo_timeout",
        r"gloo/.{0,160}[Tt]imed out|\bGloo\b.{0,80}timed out",
        ("gloo",),
        (
            "RuntimeError: [../gloo/transport/tcp/unbound_buffer.cc:84] Timed out waiting 1800000ms for recv operation to complete",
        ),
        ("using gloo backend with timeout of 1800 s",),
    ),
    Signature(
        "gloo-error",
        "gloo_error",
        r"gloo/(?!.{0,160}[Tt]imed out).{0,200}(?:Connection (?:reset|closed|refused)|Broken pipe|[Ss]ocket closed|error|Software caused)|Gloo connectFullMesh failed",
        ("gloo",),
        (
            "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.2]:4000",
        ),
        ("Initialized gloo/tcp transport on eth0",),
    ),
    Signature(
        "xid",
        "xid",
        r"NVRM: Xid \((?:PCI:)?(?P<gpu_bus>[0-9a-fA-F:.]+)\): (?P<xid>\d+)\b(?<!\b63)(?<!\b92)(?<!\b137)",
        ("nvrm: xid",),
        (
            "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus.",
            "[ 12.5] NVRM: Xid (PCI:0000:41:00): 48, An uncorrectable double bit error (DBE) has been detected on GPU.",
        ),
        (
            "NVRM: loading NVIDIA UNIX x86_64 Kernel Module 550.54",
            "NVRM: Xid (PCI:0000:3b:00): 63, Row Remapper: New row marked",
        ),
        frameworks=("kernel",),
    ),
    Signature(
        "xid-noted",
        "xid",
        r"NVRM: Xid \((?:PCI:)?(?P<gpu_bus>[0-9a-fA-F:.]+)\): (?P<xid>63|92|137)\b",
        ("nvrm: xid",),
        ("NVRM: Xid (PCI:0000:3b:00): 63, Row Remapper: New row marked for remapping",),
        ("NVRM: Xid (PCI:0000:3b:00): 64, Row Remapper: failed",),
        severity="warning",
        fatal=False,
        frameworks=("kernel",),
    ),
    Signature(
        "gpu-lost",
        "gpu_lost",
        r"GPU is lost|fallen off the bus|NVML_ERROR_GPU_IS_LOST|Unable to determine the device handle for (?:GPU|gpu)|CUDA_ERROR_DEVICE_UNAVAILABLE|NVRM: .{0,40}RmInitAdapter failed",
        (
            "gpu is lost",
            "off the bus",
            "gpu_is_lost",
            "the device handle",
            "device_unavailable",
            "rminitadapter",
        ),
        (
            "Unable to determine the device handle for GPU 0000:41:00.0: GPU is lost.  Reboot the system",
            "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.",
        ),
        ("GPU 0 is at 61 C", "the car fell off the road"),
    ),
    Signature(
        "nvswitch",
        "nvswitch",
        r"\bSXid(?:s)? \(PCI:[0-9a-fA-F:.]+\): (?P<xid>\d+)|nvidia-nvswitch\d*: .{0,60}(?:[Ff]atal|error)",
        ("sxid", "nvidia-nvswitch"),
        ("nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",),
        ("nvidia-nvswitch0: using MSI",),
        frameworks=("kernel",),
    ),
)
