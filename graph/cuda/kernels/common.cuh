// What all kernels share: the warp, and sums whose order depends on shapes alone.
// There are no floating-point atomics anywhere, so the same input gives the same
// bytes on every run and card.
#pragma once

#define EVERY_LANE 0xffffffffu

// A column block: 32 neighbouring columns, 8 threads to share the rows of each.
#define COLUMNS 32
#define SHARERS 8

__device__ __forceinline__ float warp_sum(float v) {
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(EVERY_LANE, v, o);
    return v;
}

__device__ __forceinline__ float warp_max(float v) {
    for (int o = 16; o > 0; o >>= 1) v = fmaxf(v, __shfl_xor_sync(EVERY_LANE, v, o));
    return v;
}

// column_sum adds the parts of a column that the SHARERS threads (threadIdx.y) of a
// column block hold, in their order, and gives the sum to all of them.
__device__ __forceinline__ float column_sum(float v) {
    __shared__ float part[SHARERS][COLUMNS];
    __syncthreads();
    part[threadIdx.y][threadIdx.x] = v;
    __syncthreads();
    float sum = 0;
    for (int y = 0; y < SHARERS; y++) sum += part[y][threadIdx.x];
    return sum;
}

// block_sum adds the parts that the 256 threads of a block hold, always in the same order; thread 0 has the sum.
__device__ __forceinline__ double block_sum(double v) {
    __shared__ double part[256];
    part[threadIdx.x] = v;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    return part[0];
}

// first and stride of the elements that a thread of a one-dimensional grid takes; there are
// fewer than 2³¹, and a division of 64 bits would cost more than most elements.
__device__ __forceinline__ unsigned first() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ unsigned stride() { return gridDim.x * blockDim.x; }

__device__ __forceinline__ bool is_finite(float x) { return x - x == 0; }

// floored and capped are max(x, floor) and min(x, cap), and a NaN where x is one, of which
// fmaxf and fminf make the bound.
template <typename F> __device__ __forceinline__ F floored(F x, F floor) { return x < floor ? floor : x; }
template <typename F> __device__ __forceinline__ F capped(F x, F cap) { return x > cap ? cap : x; }

// blended is γ·old + δ·fresh with one rounding of the second product and one of the sum, in every
// kernel: of a sum of two products compilers fuse either.
__device__ __forceinline__ float blended(float gamma, float old, float delta, float fresh) { return fmaf(gamma, old, delta * fresh); }
