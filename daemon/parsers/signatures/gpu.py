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
"""Text before the phrase, without words that make it advice: "to avoid …", "if you see …"."""

GPU: tuple[Signature, ...] = (
    Signature(  # fairseq, detectron2, ultralytics, accelerate
        "cuda-oom-handled",
        "cuda_oom",
        r"(?i)(?:out of memory|OutOfMemory\w*).{0,120}(?:retry"
        r"|retrying"
        r"|re-?try the"
        r"|skipping (?:this |the )?(?:batch|sample|step)"
        r"|skip this batch"
        r"|reducing (?:the )?(?:\w+ )?batch"
        r"|Reducing to batch"
        r"|halving"
        r"|falling back"
        r"|fall back"
        r"|using CPU"
        r"|recover)"
        r"|(?:caught"
        r"|recover(?:ed|ing)? from"
        r"|skipp?(?:ed|ing) .{0,40}due to"
        r"|copy inputs of .{0,80}due to) .{0,40}(?:out of memory|OutOfMemory|OOM\b)"
        r"|显存不足.{0,12}(?:跳过|重试)",
        severity="info",
        fatal=False,
        source="detectron2 utils/memory.py, ultralytics engine/trainer.py, fairseq trainer.py",
    ),
    Signature(
        "cuda-oom",
        "cuda_oom",
        r"(?i)^(?!.{0,400}(?:RESOURCE_EXHAUSTED|Resource exhausted:|OOM when allocating))(?:.*?(?:"
        r"(?:CUDA|HIP|XPU|NPU|MLU|MUSA|HPU|DCU|MPS backend|GPU) out of memory(?=\.? ?(?:Tried to allocate|\(MPS allocated))"
        r"|(?:CUDA|HIP|MUSA|XPU)(?: driver| runtime)? error[:(]\s?(?:2\), ?)?out of memory"
        r"|Triton Error \[(?:CUDA|HIP)\]: out of memory"
        r"|cudaErrorMemoryAllocation\b"
        r"|hipError(?:OutOfMemory|MemoryAllocation)\b"
        r"|(?:Cuda|HIP) failure (?:2 )?'out of memory"
        r"|CUDA failure 2: out of memory"
        r"|\bCUDA_ERROR_OUT_OF_MEMORY"
        r"|(?:torch|cuda|cupy|c10|hip|npu|rmm|mlx)[\w.:]*OutOfMemory(?:Error)?\b"
        r"|\bOutOfGPUMemoryError"
        r"|Out of GPU memory trying to allocate"
        r"|cuda runtime error \(2\)"
        r"|(?:cuda|hip)Malloc\w*(?: retry)? failed: out of memory"
        r"|CUDA: out of memory"
        r"|Out of memory error on GPU"
        r"|Allocation on device(?: \d+)? would exceed allowed memory"
        r"|\b2 vs\.? 0\b.{0,120}\bout of memory"
        r"|memory isn't enough and alloc failed"
        r"|EL0004\b.{0,40}Failed to allocate memory"
        r"|Call rtMalloc fail"
        r"|No available memory for the cache blocks"
        r"|is less than desired GPU memory utilization"
        r"|Not enough memory\. Please try to increase --mem-fraction"
        r"|\[METAL\] Command buffer execution failed: Insufficient Memory"
        r"|kIOGPUCommandBufferCallbackErrorOutOfMemory)"
        rf"|{_NO_ADVICE}(?:\b(?:CUDA|HIP|XPU|NPU|MLU|MUSA|HPU|GPU) out of memory\b(?! (?:errors|issues|killer|handling))"
        r"|(?:GPU|CUDA) ?内存不足"
        r"|显存(?:已)?(?:不足|溢出|不够|爆了|耗尽))"
        r")(?:.*?tried to allocate (?P<requested>[\d.]+ ?[KMGT]?i?B(?:ytes)?))?(?:.{0,20}GPU (?P<gpu>\d+))?",
        source="pytorch CUDACachingAllocator.cpp, CUDAMallocAsyncAllocator.cpp; torch_npu; Paddle cuda_allocator.cc",
    ),
    Signature(  # jax, tensorflow, torch_xla
        "xla-oom",
        "accel_oom",
        r"RESOURCE_EXHAUSTED: (?!.*(?:[Qq]uota|[Nn]o space|larger than max|\b429\b|[Rr]ate.?limit|[Tt]oo many))(?=.*(?:[Mm]emory|[Aa]lloc|hbm|HBM|vmem|smem|bytes|reserve))"
        r"|[Rr]esource exhausted: (?:OOM|Out of memory|Ran out|Failed to allocate|Attempting to)"
        r"|OOM when allocating tensor"
        r"|Ran out of memory in memory space"
        r"|Out of memory while trying to allocate"
        r"|Out of memory allocating \d+ bytes(?! \(allocated so far)"
        r"|[Ff]ailed to allocate memory \[Op:"
        r"|[Ff]ailed to allocate request for .{1,40} on device ordinal"
        r"|Dst tensor is not initialized"
        r"|Exceeded (?:hbm|vmem|smem) capacity by"
        r"|Attempting to (?:reserve|allocate) [\d.]+ ?[KMG]?.{0,80}That was not possible"
        r"|Allocator \(GPU_\d+_bfc\) ran out of memory trying to allocate(?!.*not a failure)",
        source="xla bfc_allocator.cc, tensorflow core/framework/op_kernel, jax issues",
    ),
    Signature(  # pytorch, tensorflow
        "cuda-unavailable-warned",
        "cuda_unavailable",
        r"CUDA initialization: (?:Found no NVIDIA driver"
        r"|CUDA unknown error"
        r"|Unexpected error from"
        r"|The NVIDIA driver on your system is too old"
        r"|CUDA driver initialization failed)"
        r"|with CUDA capability sm_\d+ is not compatible with the current PyTorch"
        r"|failed call to cuInit: "
        r"|The NVIDIA Driver was not detected",
        role="confirmation",
        severity="warning",
        fatal=False,
        source="pytorch torch/cuda/__init__.py, tensorflow cuda_driver.cc: a program may go on without the card",
    ),
    Signature(
        "cuda-unavailable",
        "cuda_unavailable",
        r"no (?:CUDA|ROCm)-capable device is detected"
        r"|CUDA driver version is insufficient"
        r"|no kernel image is available"
        r"|forward compatibility was attempted"
        r"|unsupported display driver / cuda driver combination"
        r"|CUDA-capable device\(s\) is/are busy or unavailable"
        r"|Unexpected error from (?:cuda|hip)GetDeviceCount"
        r"|driver on your system is too old"
        r"|Found no NVIDIA driver on your system"
        r"|CUDA driver initialization failed"
        r"|CUDA unknown error - this may be due"
        r"|No supported gpu backend found"
        r"|GPUs requested but none are available"
        r"|Cannot access accelerator device when none is available"
        r"|You requested gpu: \[[\d, ]+\]"
        r"|[Bb]ut your machine only has: "
        r"|Torch not compiled with CUDA enabled"
        r"|No (?:CUDA|HIP|XPU|NPU) GPUs are available"
        r"|(?:(?:CUDA|HIP) error: |cuda runtime error \(\d+\) : )(?:invalid device ordinal"
        r"|all CUDA-capable devices are busy"
        r"|system not yet initialized"
        r"|initialization error"
        r"|invalid device function"
        r"|device kernel image is invalid"
        r"|the provided PTX was compiled)"
        r"|cudaError(?:NoDevice"
        r"|InsufficientDriver"
        r"|DevicesUnavailable"
        r"|NoKernelImageForDevice"
        r"|UnsupportedPtxVersion"
        r"|SystemNotReady)\b"
        r"|hipError(?:NoDevice|NoBinaryForGpu|InvalidDeviceFunction)\b"
        r"|Failed to initialize NVML: "
        r"|Attempting to deserialize object on (?:a )?(?:CUDA|HIP|XPU) device(?: \d+)? but"
        r"|ProcessGroup\w+ is only supported with GPUs"
        r"|Cannot use GPU because there is no GPU"
        r"|RuntimeError: Unable to initialize backend '\w+'"
        r"|CUDA unavailable, invalid device"
        r"|Invalid CUDA 'device="
        r"|(?:SystemError|RuntimeError): GPU device not found"
        r"|CUDA Setup failed despite GPU being available"
        r"|mixed precision requires a GPU"
        r"|nvidia-container-cli: initialization error"
        r"|could not select device driver .{0,10}with capabilities: \[\[gpu"
        r"|couldn't communicate with the NVIDIA driver"
        r"|Cannot use (?:GPU|CUDAPlace).{0,60}(?:CPU version|CPU only)",
        source="pytorch c10/cuda, lightning accelerators, jax xla_bridge.py, nvidia-smi, ultralytics select_device",
    ),
    Signature(
        "no-devices",
        "cuda_unavailable",
        r"^No devices were found\s*$"
        r"|(?:(?:CUDA|HIP) error: |cuda runtime error \(\d+\) : )unknown error",
        role="cascade",
        source="nvidia-smi, cuda_runtime_api.h: printed when a GPU is gone",
    ),
    Signature(
        "gpu-lost",
        "gpu_lost",
        r"\bGPU is lost\b"
        r"|NVML_ERROR_GPU_IS_LOST"
        r"|NVMLError_GpuIsLost"
        r"|Unable to determine the device handle for (?:GPU|gpu)"
        r"|\bGPU requires (?:a )?reset\b"
        r"|HW Exception by GPU node-\d+ .{0,80}reason ?: ?GPU Hang"
        r"|cudaErrorDeviceUninitialized\b",
        source="nvml.h, nvidia-smi, ROCr runtime",
    ),
)
