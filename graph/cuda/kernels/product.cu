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

// product is the tile of Z (m×n) = op(X)·op(Y), of depth k, that is the block's in the
// grid's plane; ldx, ldy and ldz are how far the rows of each lie apart.
template <bool XT, bool YT>
__device__ __forceinline__ void product(float *z, const float *x, const float *y, int m, int n, int k, int ldx, int ldy, int ldz) {
    __shared__ Tiles t;
    int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    float sum[4][4] = {}, nx[4], ny[4];
    fetch<XT>(nx, x, row, m, 0, k, ldx);
    fetch<!YT>(ny, y, column, n, 0, k, ldy);
    for (int at = 0; at < k; at += DEPTH) {
        store<XT>(t.x, nx);
        store<!YT>(t.y, ny);
        __syncthreads();
        fetch<XT>(nx, x, row, m, at + DEPTH, k, ldx);
        fetch<!YT>(ny, y, column, n, at + DEPTH, k, ldy);
        multiply_tiles(sum, t, tx, ty);
        __syncthreads();
    }
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            int r = row + 4 * ty + a, c = column + 4 * tx + b;
            if (r < m && c < n) z[(size_t)r * ldz + c] = sum[a][b];
        }
}

// products multiplies count pairs of matrices, all of depth k but the last one. Pair
// b·inner + h begins b·outer_x + h·inner_x elements into X, and so do Y and Z. The parts
// of one product, cut along its depth, are such pairs too.
template <bool XT, bool YT>
__device__ __forceinline__ void products(float *z, const float *x, const float *y, int m, int n, int k, int last, int count, int inner, int ldx, int outer_x, int inner_x, int ldy,
                                         int outer_y, int inner_y, int ldz, int outer_z, int inner_z) {
    for (int pair = blockIdx.z; pair < count; pair += gridDim.z) {
        size_t b = pair / inner, h = pair % inner;
        product<XT, YT>(z + b * outer_z + h * inner_z, x + b * outer_x + h * inner_x, y + b * outer_y + h * inner_y, m, n, pair == count - 1 ? last : k, ldx, ldy, ldz);
    }
}

extern "C" __global__ void __launch_bounds__(256, 3) product_nn(float *z, const float *x, const float *y, int m, int n, int k, int last, int count, int inner, int ldx, int outer_x, int inner_x,
                                                             int ldy, int outer_y, int inner_y, int ldz, int outer_z, int inner_z) {
    products<false, false>(z, x, y, m, n, k, last, count, inner, ldx, outer_x, inner_x, ldy, outer_y, inner_y, ldz, outer_z, inner_z);
}

extern "C" __global__ void __launch_bounds__(256, 3) product_nt(float *z, const float *x, const float *y, int m, int n, int k, int last, int count, int inner, int ldx, int outer_x, int inner_x,
                                                             int ldy, int outer_y, int inner_y, int ldz, int outer_z, int inner_z) {
    products<false, true>(z, x, y, m, n, k, last, count, inner, ldx, outer_x, inner_x, ldy, outer_y, inner_y, ldz, outer_z, inner_z);
}

extern "C" __global__ void __launch_bounds__(256, 3) product_tn(float *z, const float *x, const float *y, int m, int n, int k, int last, int count, int inner, int ldx, int outer_x, int inner_x,
                                                             int ldy, int outer_y, int inner_y, int ldz, int outer_z, int inner_z) {
    products<true, false>(z, x, y, m, n, k, last, count, inner, ldx, outer_x, inner_x, ldy, outer_y, inner_y, ldz, outer_z, inner_z);
}

// sum_parts adds arrays of n numbers that lie one after the other, in their order.
extern "C" __global__ void sum_parts(float *out, const float *parts, int n, int count) {
    for (long long i = first(); i < n; i += stride()) {
        float sum = parts[i];
        for (int p = 1; p < count; p++) sum += parts[(size_t)p * n + i];
        out[i] = sum;
    }
}
