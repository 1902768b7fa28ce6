"""Signatures of errors that CUDA, ROCm and their libraries report while a program computes.

Wordings: PyTorch (c10, ATen, inductor), Triton, TensorFlow, JAX/XLA, MXNet, PaddlePaddle,
Caffe, ROCm, Ascend.
"""

from __future__ import annotations

from .form import Signature

CUDA: tuple[Signature, ...] = (
    Signature(
        "cuda-device-assert",
        "cuda_device_assert",
        r"device-side assert triggered"
        r"|block: \[\d+,\d+,\d+\], thread: \[\d+,\d+,\d+\] Assertion"
        r"|CUDA_ERROR_ASSERT\b"
        r"|cudaErrorAssert\b"
        r"|hipErrorAssert\b"
        r"|\.(?:cuh?|hip)(?::|\()\d+.{0,400}Assertion [`'].{1,300}' failed"
        r"|[Dd]evice-side assertion [`'].{1,300}[`'] failed",
        source="pytorch ATen/native/cuda, c10/cuda/CUDAException.cpp, Paddle enforce.h",
    ),
    Signature(
        "cuda-illegal-access",
        "cuda_illegal_access",
        r"illegal memory access was encountered"
        r"|CUDA_ERROR_(?:ILLEGAL|MISALIGNED)_ADDRESS"
        r"|(?:cuda|hip)Error(?:IllegalAddress|MisalignedAddress)\b"
        r"|(?:CUDA|HIP|Triton) ?[eE]rror.{0,12}: misaligned address"
        r"|Memory access fault by GPU"
        r"|HSA_STATUS_ERROR_MEMORY_(?:APERTURE_VIOLATION|FAULT)"
        r"|Warp (?:Illegal|Out-of-range|Misaligned) Address"
        r"|the MPU address access is invalid",
        source="cuda_runtime_api.h, ROCr runtime, Ascend CANN error codes",
    ),
    Signature(
        "cuda-launch-failure",
        "cuda_launch_failure",
        r"unspecified launch failure"
        r"|CUDA_ERROR_(?:LAUNCH_FAILED"
        r"|LAUNCH_TIMEOUT"
        r"|LAUNCH_OUT_OF_RESOURCES"
        r"|ILLEGAL_INSTRUCTION"
        r"|HARDWARE_STACK_ERROR"
        r"|INVALID_PC)\b"
        r"|(?:cuda|hip)Error(?:LaunchFailure"
        r"|LaunchTimeout"
        r"|LaunchOutOfResources"
        r"|IllegalInstruction"
        r"|HardwareStackError"
        r"|InvalidPc)\b"
        r"|an illegal instruction was encountered"
        r"|the launch timed out and was terminated"
        r"|too many resources requested for launch"
        r"|operation not supported on global/shared address space"
        r"|\b(?i:CUDA|HIP|ErrStr)\b.{0,80}: ?(?:invalid program counter"
        r"|invalid configuration argument"
        r"|hardware stack error"
        r"|invalid resource handle)"
        r"|HSA_STATUS_ERROR_EXCEPTION\b"
        r"|there is an? (?:aivec|aicore|fftsplus \w+) error exception"
        r"|[Aa]icore kernel execute failed",
        source="cuda_runtime_api.h, ROCr runtime, Ascend CANN error codes",
    ),
    Signature(
        "cuda-ecc",
        "cuda_ecc",
        r"^(?!.*NVRM: )(?:.*?)(?:[Uu]ncorrectable (?:ECC|NVLink) error"
        r"|CUDA_ERROR_(?:ECC|NVLINK)_UNCORRECTABLE"
        r"|cudaErrorECCUncorrectable"
        r"|hipErrorECCNotCorrectable"
        r"|(?i:double[- ]bit ECC error)(?!s\b)"
        r"|CUDA_ERROR_CONTAINED\b)",
        source="cuda_runtime_api.h",
    ),
    Signature(
        "cublas",
        "cublas_error",
        r"(?:error|Error|ERROR|failed|failure).{0,60}(?:CU|HIP)BLAS_STATUS_(?!SUCCESS)[A-Z_]+"
        r"|(?:CU|HIP)BLAS_STATUS_(?!SUCCESS)[A-Z_]+['\"]?,? (?:when calling|returned from)"
        r"|to create cublas handle"
        r"|(?:CUBLAS|cuBLAS|ROCBLAS|rocBLAS) (?:runtime )?error ?[:(]"
        r"|\(\d+ vs\. 0\) +CUBLAS_STATUS_"
        r"|cublas runtime error"
        r"|Blas x?[A-Z]*(?:GEM[MV]|gem[mv])(?:StridedBatched|Batched)? ?(?:Batched )?launch failed"
        r"|[Ff]ailed to run cuBLAS routine"
        r"|Unable to launch cuBLAS gemm"
        r"|BLAS operation using StreamExecutor without BLAS support"
        r"|cuBLAS API failed with status",
        source="pytorch ATen/cuda/CUDABlas.cpp, tensorflow cuda_blas.cc, xla",
    ),
    Signature(
        "cudnn",
        "cudnn_error",
        r"(?i:cudnn error)(?:: ?|\(\d+\), )CUDNN_STATUS_(?!SUCCESS)"
        r"|[Cc]ould not create cudnn handle: CUDNN_STATUS"
        r"|(?i:cudnn_?status)\w* .{0,20}CUDNN_STATUS_(?!SUCCESS)"
        r"|(?:vs\. 0\) +|RuntimeError: |cuDNN: |MIOpen Error: |Error: )CUDNN_STATUS_(?!SUCCESS)"
        r"|[Uu]nable to find a valid cuDNN algorithm"
        r"|Failed to get convolution algorithm\. This is probably because cuDNN"
        r"|was unable to find an engine to execute"
        r"|cuDNN launch failure"
        r"|cuDNN Frontend error: "
        r"|No execution plans support the graph"
        r"|miopenStatus(?!Success)\w+"
        r"|MIOpen(?:\(HIP\))?: ?Error"
        r"|DNN library (?:is not found|initialization failed)"
        r"|but source was compiled with: \d+\.\d+"
        r"|Fail to find the dnn implementation"
        r"|Failed to determine best cudnn convolution algorithm"
        r"|Could not load library libcudnn\S*\. Error"
        r"|Cannot load cudnn shared library"
        r"|cuDNN version incompatibility: ",
        source="pytorch ATen/cudnn, tensorflow cuda_dnn.cc, Paddle enforce.h, MIOpen",
    ),
)
