"""Signatures of accelerator memory, of devices that cannot be used, and of lost hardware.

Wordings: PyTorch (CUDA, ROCm, Ascend, MPS), TensorFlow, JAX/XLA, PaddlePaddle, MXNet, CuPy,
Caffe, Julia, vLLM, NVIDIA's driver and tools.
"""

from __future__ import annotations

from .form import Signature

_NO_ADVICE = (
    r"(?:(?!\b(?:to avoid|avoid|avoids|prevent|prevents|in case of|if|may|might|could|can|handle|handles|handling|simulat\w+) "
    r"|如果|避免|防止|可能)[^\n])*?"
)
"""Text before the phrase that does not make it advice: "to avoid …", "if you see …"."""

GPU: tuple[Signature, ...] = (
    Signature(
        "cuda-oom-handled",
        "cuda_oom",
        r"(?i)(?:out of memory|OutOfMemory\w*).{0,120}(?:retry|retrying|re-?try the|skipping (?:this |the )?(?:batch|sample|step)|skip this batch|reducing (?:the )?(?:\w+ )?batch|Reducing to batch|halving|falling back|fall back|using CPU|recover)"
        r"|(?:caught|recover(?:ed|ing)? from|skipp?(?:ed|ing) .{0,40}due to|copy inputs of .{0,80}due to) .{0,40}(?:out of memory|OutOfMemory|OOM\b)"
        r"|显存不足.{0,12}(?:跳过|重试)",
        ("out of memory", "outofmemory", "cuda oom", "recover from oom", "显存不足"),
        (
            "WARNING: ran out of memory, retrying batch",
            "CUDA out of memory caught, reducing batch size to 8",
            "WARNING CUDA out of memory with batch=16. Reducing to batch=8 and retrying (1/3).",
            "WARNING CUDA OutOfMemoryError in TaskAlignedAssigner, using CPU",
            "Attempting to copy inputs of pairwise_iou to CPU due to CUDA OOM",
            "警告: 显存不足，跳过该批次",
        ),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
            "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0",
        ),
        severity="info",
        fatal=False,
        frameworks=("fairseq", "detectron2", "ultralytics", "accelerate"),
        source="detectron2 utils/memory.py, ultralytics engine/trainer.py, fairseq trainer.py",
    ),
    Signature(
        "cuda-oom",
        "cuda_oom",
        r"(?i)^(?!.{0,400}(?:RESOURCE_EXHAUSTED|Resource exhausted:|OOM when allocating))(?:"
        r".*?(?:(?:CUDA|HIP|XPU|NPU|MLU|MUSA|HPU|DCU|MPS backend|GPU) out of memory(?=\.? ?(?:Tried to allocate|\(MPS allocated))"
        r"|(?:CUDA|HIP|MUSA|XPU)(?: driver| runtime)? error[:(]\s?(?:2\), ?)?out of memory|Triton Error \[(?:CUDA|HIP)\]: out of memory"
        r"|cudaErrorMemoryAllocation\b|hipError(?:OutOfMemory|MemoryAllocation)\b|(?:Cuda|HIP) failure (?:2 )?'out of memory|CUDA failure 2: out of memory"
        r"|\bCUDA_ERROR_OUT_OF_MEMORY|(?:torch|cuda|cupy|c10|hip|npu|rmm|mlx)[\w.:]*OutOfMemory(?:Error)?\b|\bOutOfGPUMemoryError|Out of GPU memory trying to allocate"
        r"|cuda runtime error \(2\)|(?:cuda|hip)Malloc\w*(?: retry)? failed: out of memory|CUDA: out of memory|Out of memory error on GPU|Allocation on device(?: \d+)? would exceed allowed memory"
        r"|\b2 vs\.? 0\b.{0,120}\bout of memory|memory isn't enough and alloc failed|EL0004\b.{0,40}Failed to allocate memory|Call rtMalloc fail"
        r"|No available memory for the cache blocks|is less than desired GPU memory utilization|Not enough memory\. Please try to increase --mem-fraction"
        r"|\[METAL\] Command buffer execution failed: Insufficient Memory|kIOGPUCommandBufferCallbackErrorOutOfMemory)"
        r"|"
        + _NO_ADVICE
        + r"(?:\b(?:CUDA|HIP|XPU|NPU|MLU|MUSA|HPU|GPU) out of memory\b(?! (?:errors|issues|killer|handling))|(?:GPU|CUDA) ?内存不足|显存(?:已)?(?:不足|溢出|不够|爆了|耗尽)))"
        r"(?:.*?tried to allocate (?P<requested>[\d.]+ ?[KMGT]?i?B(?:ytes)?))?(?:.{0,20}GPU (?P<gpu>\d+))?",
        (
            "out of memory",
            "errormemoryallocation",
            "erroroutofmemory",
            "error_out_of_memory",
            "outofmemory",
            "outofgpumemory",
            "out of gpu memory",
            "cuda runtime error",
            "would exceed allowed memory",
            "memory isn't enough",
            "failed to allocate memory",
            "call rtmalloc fail",
            "no available memory for",
            "less than desired gpu memory",
            "not enough memory. please",
            "insufficient memory",
            "内存不足",
            "显存",
        ),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79 GiB",
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.10 GiB (GPU 0; 23.69 GiB total capacity)",
            "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.93 GiB total capacity)",
            "RuntimeError: CUDA error: out of memory",
            "RuntimeError: HIP out of memory. Tried to allocate 512.00 MiB",
            "RuntimeError: NPU out of memory. Tried to allocate 22.00 MiB (NPU 0; 60.97 GiB total capacity)",
            "RuntimeError: MPS backend out of memory (MPS allocated: 17.2 GB, other allocations: 384 MB)",
            "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)",
            "RuntimeError: Triton Error [CUDA]: out of memory",
            "OSError: (External) CUDA error(2), out of memory.",
            "Out of memory error on GPU 0. Cannot allocate 98.000244MB memory on GPU 0",
            "THCudaCheck FAIL file=a.cu line=58 error=2 : cuda runtime error (2) : out of memory",
            "Check failed: error == cudaSuccess (2 vs. 0)  out of memory",
            "[enforce fail at context_gpu.cu:343] error == cudaSuccess. 2 vs 0. Error at: context_gpu.cu:343: out of memory",
            "MXNetError: src/storage/pooled_storage_manager.h:161: cudaMalloc retry failed: out of memory",
            "failed to allocate 11.90G (12777684992 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
            "n1:3:7 [0] transport/p2p.cc:5 NCCL WARN Cuda failure 2 'out of memory'",
            "ERROR: LoadError: Out of GPU memory trying to allocate 64.000 MiB",
            "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 4,000,000 bytes",
            "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`",
            "错误: 显存不足, 训练终止",
        ),
        (
            "slurm reports: task 0: Out Of Memory",
            "tip: set expandable_segments to avoid CUDA fragmentation",
            "use --gradient-checkpointing to avoid CUDA out of memory errors",
            "If you run into CUDA out of memory, lower the batch size",
            "如果显存不足，请减小 batch size",
            "显存占用: 14.2 GB",
            "Out of memory: Killed process 4711 (python3)",
            "java.lang.OutOfMemoryError: Java heap space",
            "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
            "XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to load in-memory CUBIN: CUDA_ERROR_OUT_OF_MEMORY",
            "RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried to allocate 800 bytes.",
        ),
        source="pytorch CUDACachingAllocator.cpp, CUDAMallocAsyncAllocator.cpp; torch_npu; Paddle cuda_allocator.cc",
    ),
    Signature(
        "xla-oom",
        "accel_oom",
        r"RESOURCE_EXHAUSTED: (?!.*(?:[Qq]uota|[Nn]o space|larger than max|\b429\b|[Rr]ate.?limit|[Tt]oo many))(?=.*(?:[Mm]emory|[Aa]lloc|hbm|HBM|vmem|smem|bytes|reserve))"
        r"|[Rr]esource exhausted: (?:OOM|Out of memory|Ran out|Failed to allocate|Attempting to)|OOM when allocating tensor|Ran out of memory in memory space"
        r"|Out of memory while trying to allocate|Out of memory allocating \d+ bytes(?! \(allocated so far)|[Ff]ailed to allocate memory \[Op:|[Ff]ailed to allocate request for .{1,40} on device ordinal"
        r"|Dst tensor is not initialized|Exceeded (?:hbm|vmem|smem) capacity by|Attempting to (?:reserve|allocate) [\d.]+ ?[KMG]?.{0,80}That was not possible"
        r"|Allocator \(GPU_\d+_bfc\) ran out of memory trying to allocate(?!.*not a failure)",
        (
            "resource_exhausted",
            "resource exhausted",
            "oom when allocating",
            "ran out of memory",
            "out of memory while",
            "out of memory allocating",
            "failed to allocate memory [op",
            "failed to allocate request",
            "dst tensor is not",
            "capacity by",
            "that was not possible",
        ),
        (
            "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 123456 bytes.",
            "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 8589934592 bytes.",
            "ResourceExhaustedError: OOM when allocating tensor with shape[64,512,512] and type float on GPU:0",
            "XlaRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 17.2G of 15.7G hbm.",
            "RESOURCE_EXHAUSTED: Attempting to reserve 9.03G at the bottom of memory. That was not possible. There are 7.23G free",
            "InternalError: Failed copying input tensor from CPU:0 to GPU:0 in order to run _EagerConst: Dst tensor is not initialized.",
            "ResourceExhaustedError: {{function_node __wrapped__AddV2}} failed to allocate memory [Op:AddV2]",
        ),
        (
            "Could not open events file: /tmp/tb: Resource exhausted: /tmp/tb",
            "ResourceExhaustedError: disk quota exceeded [Op:SaveV2]",
            "RESOURCE_EXHAUSTED: Received message larger than max",
            "429 RESOURCE_EXHAUSTED. Quota exceeded for requests per minute",
            "Hint: If you want to see a list of allocated tensors when OOM happens, add report_tensor_allocations_upon_oom",
            "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.3GiB. The caller indicates that this is not a failure",
        ),
        frameworks=("jax", "tensorflow", "torch_xla"),
        source="xla bfc_allocator.cc, tensorflow core/framework/op_kernel, jax issues",
    ),
    Signature(
        "cuda-unavailable-warned",
        "cuda_unavailable",
        r"CUDA initialization: (?:Found no NVIDIA driver|CUDA unknown error|Unexpected error from|The NVIDIA driver on your system is too old|CUDA driver initialization failed)"
        r"|with CUDA capability sm_\d+ is not compatible with the current PyTorch|failed call to cuInit: |The NVIDIA Driver was not detected",
        (
            "cuda initialization: ",
            "with cuda capability",
            "call to cuinit",
            "nvidia driver was not",
        ),
        (
            "UserWarning: CUDA initialization: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU",
            "NVIDIA H100 with CUDA capability sm_90 is not compatible with the current PyTorch installation.",
            "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected",
        ),
        (
            "CUDA initialization took 2.1 s",
            "Found device 0 with CUDA capability 8.0",
        ),
        role="confirmation",
        severity="warning",
        fatal=False,
        frameworks=("pytorch", "tensorflow"),
        source="pytorch torch/cuda/__init__.py, tensorflow cuda_driver.cc: a program may go on without the card",
    ),
    Signature(
        "cuda-unavailable",
        "cuda_unavailable",
        r"no (?:CUDA|ROCm)-capable device is detected|CUDA driver version is insufficient"
        r"|no kernel image is available|forward compatibility was attempted|unsupported display driver / cuda driver combination"
        r"|CUDA-capable device\(s\) is/are busy or unavailable|Unexpected error from (?:cuda|hip)GetDeviceCount|driver on your system is too old|Found no NVIDIA driver on your system|CUDA driver initialization failed|CUDA unknown error - this may be due"
        r"|No supported gpu backend found|GPUs requested but none are available|Cannot access accelerator device when none is available"
        r"|You requested gpu: \[[\d, ]+\]|[Bb]ut your machine only has: |Torch not compiled with CUDA enabled|No (?:CUDA|HIP|XPU|NPU) GPUs are available"
        r"|(?:(?:CUDA|HIP) error: |cuda runtime error \(\d+\) : )(?:invalid device ordinal|all CUDA-capable devices are busy|system not yet initialized|initialization error|invalid device function|device kernel image is invalid|the provided PTX was compiled)"
        r"|cudaError(?:NoDevice|InsufficientDriver|DevicesUnavailable|NoKernelImageForDevice|UnsupportedPtxVersion|SystemNotReady)\b|hipError(?:NoDevice|NoBinaryForGpu|InvalidDeviceFunction)\b"
        r"|Failed to initialize NVML: |Attempting to deserialize object on (?:a )?(?:CUDA|HIP|XPU) device(?: \d+)? but|ProcessGroup\w+ is only supported with GPUs|Cannot use GPU because there is no GPU|RuntimeError: Unable to initialize backend '\w+'"
        r"|CUDA unavailable, invalid device|Invalid CUDA 'device=|(?:SystemError|RuntimeError): GPU device not found|CUDA Setup failed despite GPU being available|mixed precision requires a GPU"
        r"|nvidia-container-cli: initialization error|could not select device driver .{0,10}with capabilities: \[\[gpu|couldn't communicate with the NVIDIA driver|Cannot use (?:GPU|CUDAPlace).{0,60}(?:CPU version|CPU only)",
        (
            "cuda-capable",
            "rocm-capable",
            "cuda driver",
            "cuda enabled",
            "cuda error: ",
            "hip error: ",
            "cuda runtime error",
            "cudaerror",
            "hiperror",
            "cuda unknown error",
            "deserialize object on",
            "supported with gpus",
            "because there is no gpu",
            "getdevicecount",
            "gpus are available",
            "gpus requested but",
            "initialize nvml",
            "initialize backend",
            "kernel image",
            "found no nvidia driver",
            "the nvidia driver",
            "nvidia-container-cli",
            "driver on your system",
            "forward compatibility",
            "gpu backend",
            "requested gpu",
            "your machine only has",
            "access accelerator device",
            "cuda unavailable",
            "invalid cuda",
            "gpu device not found",
            "cuda setup failed",
            "requires a gpu",
            "select device driver",
            "cannot use gpu",
            "cannot use cudaplace",
        ),
        (
            "RuntimeError: No CUDA GPUs are available",
            "RuntimeError: No HIP GPUs are available",
            "Failed to initialize NVML: Driver/library version mismatch",
            "RuntimeError: CUDA error: no kernel image is available for execution on the device",
            "RuntimeError: HIP error: invalid device function",
            "RuntimeError: cuda runtime error (10) : invalid device ordinal at Module.cpp:32",
            "AssertionError: Torch not compiled with CUDA enabled",
            "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized",
            "RuntimeError: The NVIDIA driver on your system is too old (found version 10010).",
            "RuntimeError: Found no NVIDIA driver on your system.",
            "RuntimeError: Unable to initialize backend 'cuda': FAILED_PRECONDITION: No visible GPU devices.",
            "AssertionError: CUDA unavailable, invalid device 0 requested",
            "RuntimeError: Attempting to deserialize object on CUDA device 3 but torch.cuda.device_count() is 1.",
            "RuntimeError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!",
            "(PreconditionNotMet) Cannot use GPU because there is no GPU detected on your machine.",
            "ValueError: Invalid CUDA 'device=0' requested. Use 'device=cpu' or pass valid CUDA device(s) if available",
            "ValueError: fp16 mixed precision requires a GPU (not 'cpu').",
            "lightning.fabric.utilities.exceptions.MisconfigurationException: No supported gpu backend found!",
            "docker: Error response from daemon: could not select device driver with capabilities: [[gpu]].",
        ),
        (
            "CUDA available: True",
            "using 8 CUDA devices",
            "CUDA version 12.4, NVIDIA driver 550.54",
            "INFO:absl:Unable to initialize backend 'rocm': NOT_FOUND: Could not find registered platform with name: \"rocm\".",
            "INFO:absl:Unable to initialize backend 'tpu': INTERNAL: Failed to open libtpu.so",
            "CUDA is not available, training on the CPU",
            "No CUDA runtime is found, using CUDA_HOME='/usr/local/cuda'",
        ),
        source="pytorch c10/cuda, lightning accelerators, jax xla_bridge.py, nvidia-smi, ultralytics select_device",
    ),
    Signature(
        "no-devices",
        "cuda_unavailable",
        r"^No devices were found\s*$|(?:(?:CUDA|HIP) error: |cuda runtime error \(\d+\) : )unknown error",
        (
            "no devices were found",
            "cuda error: unknown",
            "hip error: unknown",
            "cuda runtime error",
        ),
        ("No devices were found", "RuntimeError: CUDA error: unknown error"),
        ("No devices were found on the second bus, using the first",),
        role="cascade",
        source="nvidia-smi, cuda_runtime_api.h: what is left to say when a card is gone",
    ),
    Signature(
        "gpu-lost",
        "gpu_lost",
        r"\bGPU is lost\b|NVML_ERROR_GPU_IS_LOST|NVMLError_GpuIsLost|Unable to determine the device handle for (?:GPU|gpu)"
        r"|\bGPU requires (?:a )?reset\b|HW Exception by GPU node-\d+ .{0,80}reason ?: ?GPU Hang|cudaErrorDeviceUninitialized\b",
        (
            "gpu is lost",
            "gpu_is_lost",
            "gpuislost",
            "the device handle",
            "gpu requires",
            "hw exception by gpu",
            "deviceuninitialized",
        ),
        (
            "Unable to determine the device handle for GPU 0000:41:00.0: GPU is lost.  Reboot the system",
            "Unable to determine the device handle for GPU0000:C1:00.0: Unknown Error",
            "pynvml.NVMLError_GpuIsLost: GPU is lost",
            "HW Exception by GPU node-4 (Agent handle: 0x55) reason :GPU Hang",
        ),
        ("GPU 0 is at 61 C", "GPU memory is reset before the epoch", "no GPU requires attention"),
        source="nvml.h, nvidia-smi, ROCr runtime",
    ),
)
