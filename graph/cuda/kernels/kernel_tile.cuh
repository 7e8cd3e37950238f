// The Gaussian kernel between two tiles of rows, and the bin of rows in none.
#pragma once
#include "common.cuh"
#include "tiles.cuh"

#define SKIPPED (-2)

// kernel_tile writes the kernel values of tile mine (rows of k) with tile other (columns),
// 0 for a row with itself.
__device__ __forceinline__ void kernel_tile(float k[TILE][TILE + 1], Tiles &t, const float *z, int mine, int other, int n, int dim) {
    int tid = threadIdx.x, tx = tid % 16, ty = tid / 16;
    float sum[4][4] = {};
    for (int l0 = 0; l0 < dim; l0 += DEPTH) {
        __syncthreads();
#pragma unroll
        for (int u = 0; u < 4; u++) {
            int i = tid + 256 * u, r = i / DEPTH, l = l0 + i % DEPTH;
            t.x[i % DEPTH][r] = mine * TILE + r < n && l < dim ? z[(size_t)(mine * TILE + r) * dim + l] : 0;
            t.y[i % DEPTH][r] = other * TILE + r < n && l < dim ? z[(size_t)(other * TILE + r) * dim + l] : 0;
        }
        __syncthreads();
        distance_tiles(sum, t, tx, ty);
    }
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) k[4 * ty + a][4 * tx + b] = mine == other && 4 * ty + a == 4 * tx + b ? 0.0f : expf(-0.5f * sum[a][b]);
}
