// Matrix products. A block of 256 threads makes a 64×64 tile of Z, each thread 16
// entries of it, from 16-deep tiles in shared memory; the next tiles travel to registers
// while the current ones are multiplied. Units say who multiplies two tiles, and where
// entry [a][b] of a thread's sums belongs in the tile of Z.
#pragma once
#include "common.cuh"
#include "tiles.cuh"

// origin is which element of a 64×16 tile of op(X) a thread fetches first, in the memory of X
// from the tile's first on; row and depth are its place in the tile.
template <bool TRANSPOSED> __device__ __forceinline__ size_t origin(int &row, int &depth, int ld) {
    row = TRANSPOSED ? threadIdx.x % TILE : threadIdx.x / DEPTH;
    depth = TRANSPOSED ? threadIdx.x / TILE : threadIdx.x % DEPTH;
    return TRANSPOSED ? (size_t)depth * ld + row : (size_t)row * ld + depth;
}

// fetch reads a thread's 4 elements of a tile, from x on, along whichever way memory runs:
// zero where there are no more rows or depths.
template <bool TRANSPOSED> __device__ __forceinline__ void fetch(float v[4], const float *x, int rows, int depths, int ld) {
#pragma unroll
    for (int u = 0; u < 4; u++) {
        int away = u * (TRANSPOSED ? 256 / TILE : 256 / DEPTH);
        v[u] = 0;
        if ((TRANSPOSED ? 0 : away) < rows && (TRANSPOSED ? away : 0) < depths) v[u] = x[(size_t)away * ld];
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

// Float32 has each thread multiply 4×4 entries that are neighbours.
struct Float32 {};

__device__ __forceinline__ void multiply_by(Float32, float sum[4][4], const Tiles &t) { multiply_tiles(sum, t, threadIdx.x % 16, threadIdx.x / 16); }

__device__ __forceinline__ int row_of(Float32, int a, int) { return threadIdx.x / 16 * 4 + a; }

__device__ __forceinline__ int column_of(Float32, int, int b) { return threadIdx.x % 16 * 4 + b; }

// product is the tile of Z (m×n) = op(X)·op(Y), of depth k, that is the block's in the
// grid's plane; ldx, ldy and ldz are how far the rows of each lie apart.
template <class Units, bool XT, bool YT>
__device__ __forceinline__ void product(float *z, const float *x, const float *y, int m, int n, int k, int ldx, int ldy, int ldz) {
    __shared__ Tiles t;
    int row = blockIdx.y * TILE, column = blockIdx.x * TILE, rx, ry, lx, ly;
    float sum[4][4] = {}, nx[4], ny[4];
    x += (size_t)row * (XT ? 1 : ldx) + origin<XT>(rx, lx, ldx);
    y += (size_t)column * (YT ? ldy : 1) + origin<!YT>(ry, ly, ldy);
    rx = m - row - rx, ry = n - column - ry, lx = k - lx, ly = k - ly; // what is left from there on
    fetch<XT>(nx, x, rx, lx, ldx);
    fetch<!YT>(ny, y, ry, ly, ldy);
    for (int at = 0; at < k; at += DEPTH) {
        store<XT>(t.x, nx);
        store<!YT>(t.y, ny);
        __syncthreads();
        x += (size_t)DEPTH * (XT ? ldx : 1);
        y += (size_t)DEPTH * (YT ? 1 : ldy);
        fetch<XT>(nx, x, rx, lx -= DEPTH, ldx);
        fetch<!YT>(ny, y, ry, ly -= DEPTH, ldy);
        multiply_by(Units(), sum, t);
        __syncthreads();
    }
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            int r = row + row_of(Units(), a, b), c = column + column_of(Units(), a, b);
            if (r < m && c < n) z[(size_t)r * ldz + c] = sum[a][b];
        }
}

// products multiplies count pairs of matrices, all of depth k but the last one. Pair
// b·inner + h begins b·outer_x + h·inner_x elements into X, and so do Y and Z. The parts
// of one product, cut along its depth, are such pairs too.
template <class Units, bool XT, bool YT>
__device__ __forceinline__ void products(float *z, const float *x, const float *y, int m, int n, int k, int last, int count, int inner, int ldx, int outer_x, int inner_x, int ldy,
                                         int outer_y, int inner_y, int ldz, int outer_z, int inner_z) {
    for (int pair = blockIdx.z; pair < count; pair += gridDim.z) {
        size_t b = pair / inner, h = pair % inner;
        product<Units, XT, YT>(z + b * outer_z + h * inner_z, x + b * outer_x + h * inner_x, y + b * outer_y + h * inner_y, m, n, pair == count - 1 ? last : k, ldx, ldy, ldz);
    }
}
