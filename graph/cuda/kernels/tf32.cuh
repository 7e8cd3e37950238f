// The matrix units' TF32, which the emulator has in its shim.
#pragma once

#ifdef __CUDACC__
// to_tf32 rounds to 10 bits of mantissa, to the nearest, ties away from zero.
__device__ __forceinline__ unsigned to_tf32(float x) {
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
}

// multiply_fragments adds a 16×8 by 8×8 product that a warp holds in fragments.
__device__ __forceinline__ void multiply_fragments(float z[4], const unsigned x[4], const unsigned y[2]) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(z[0]), "+f"(z[1]), "+f"(z[2]), "+f"(z[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
}
#endif
