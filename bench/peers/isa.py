"""Restricts each system to an instruction set below the processor's best. dlhost has an option of its cpu device; the
peers' libraries have environment variables: oneDNN's, MKL's and ATen's apply to PyTorch, ATen's to its compiler too."""

ISAS = {  # oneDNN's name, which is dlhost's option: ATen's, MKL's, XLA's
    "sse41": ("default", "SSE4_2", "SSE4_2"),
    "avx": ("default", "AVX", "AVX"),
    "avx2": ("avx2", "AVX2", "AVX2"),
    "avx2_vnni": ("avx2", "AVX2_E1", "AVX2"),
    "avx512_core": ("avx512", "AVX512", "AVX512"),
    "avx512_core_vnni": ("avx512", "AVX512_E1", "AVX512_VNNI"),
    "avx512_core_bf16": ("avx512", "AVX512_E3", "AVX512_BF16"),
    "avx512_core_fp16": ("avx512", "AVX512_E4", "AVX512_BF16"),
    "avx512_core_amx": ("amx", "AVX512_E4", "AMX"),
}


def environment_of(isa: str | None) -> dict[str, str]:
    if not isa:
        return {}
    aten, mkl, xla = ISAS[isa]
    return {"ONEDNN_MAX_CPU_ISA": isa.upper(), "ATEN_CPU_CAPABILITY": aten, "MKL_ENABLE_INSTRUCTIONS": mkl,
            "XLA_FLAGS": f"--xla_cpu_max_isa={xla}"}
