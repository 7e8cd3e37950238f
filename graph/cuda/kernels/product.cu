// Matrix products in float32. A block of 256 threads makes a 64×64 tile of Z, each
// thread 4×4 of it, from 16-deep tiles in shared memory; the next tiles travel to
// registers while the current ones are multiplied.
#include "common.cuh"
#include "tiles.cuh"

// fetch reads this thread's 4 elements of the 64×16 tile of op(X) at (row, at),
// along whichever way memory runs; zero outside of rows×end.
template <bool TRANSPOSED>
__device__ __forceinline__ void fetch(float v[4], const float *x, int row, int rows, int at, int end, int ld) {
#pragma unroll
    for (int u = 0; u < 4; u++) {
        int i = threadIdx.x + 256 * u;
        int r = row + (TRANSPOSED ? i % TILE : i / DEPTH), l = at + (TRANSPOSED ? i / TILE : i % DEPTH);
        v[u] = 0;
        if (r < rows && l < end) v[u] = TRANSPOSED ? x[(size_t)l * ld + r] : x[(size_t)r * ld + l];
    }
}

template <bool TRANSPOSED>
__device__ __forceinline__ void store(float t[DEPTH][TILE + 4], const float v[4]) {
#pragma unroll
    for (int u = 0; u < 4; u++) {
        int i = threadIdx.x + 256 * u;
        t[TRANSPOSED ? i / TILE : i % DEPTH][TRANSPOSED ? i % TILE : i / DEPTH] = v[u];
    }
}

// product is part blockIdx.z of Z (m×n) = op(X)·op(Y): depths blockIdx.z·depth to
// (blockIdx.z+1)·depth of k. Parts are m×n matrices one after the other.
template <bool XT, bool YT>
__device__ __forceinline__ void product(float *z, const float *x, const float *y, int m, int n, int k, int depth) {
    __shared__ Tiles t;
    int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    int at = blockIdx.z * depth, end = min(k, at + depth);
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    float sum[4][4] = {}, nx[4], ny[4];
    fetch<XT>(nx, x, row, m, at, end, XT ? m : k);
    fetch<!YT>(ny, y, column, n, at, end, YT ? k : n);
    for (; at < end; at += DEPTH) {
        store<XT>(t.x, nx);
        store<!YT>(t.y, ny);
        __syncthreads();
        fetch<XT>(nx, x, row, m, at + DEPTH, end, XT ? m : k);
        fetch<!YT>(ny, y, column, n, at + DEPTH, end, YT ? k : n);
        multiply_tiles(sum, t, tx, ty);
        __syncthreads();
    }
    z += (size_t)blockIdx.z * m * n;
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            int r = row + 4 * ty + a, c = column + 4 * tx + b;
            if (r < m && c < n) z[(size_t)r * n + c] = sum[a][b];
        }
}

extern "C" __global__ void __launch_bounds__(256) product_nn(float *z, const float *x, const float *y, int m, int n, int k, int depth) {
    product<false, false>(z, x, y, m, n, k, depth);
}

extern "C" __global__ void __launch_bounds__(256) product_nt(float *z, const float *x, const float *y, int m, int n, int k, int depth) {
    product<false, true>(z, x, y, m, n, k, depth);
}

extern "C" __global__ void __launch_bounds__(256) product_tn(float *z, const float *x, const float *y, int m, int n, int k, int depth) {
    product<true, false>(z, x, y, m, n, k, depth);
}

// sum_parts adds arrays of n numbers that lie one after the other, in their order.
extern "C" __global__ void sum_parts(float *out, const float *parts, int n, int count) {
    for (long long i = first(); i < n; i += stride()) {
        float sum = parts[i];
        for (int p = 1; p < count; p++) sum += parts[(size_t)p * n + i];
        out[i] = sum;
    }
}
