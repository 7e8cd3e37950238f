// Rows cut into tiles of 64, and the Gaussian kernel between two of them.
//
// What has a number for each row and column, such as z (N×d), lies in tiles: column l of row
// i is entry (⌊i/64⌋·wide + l)·64 + i mod 64, wide being the number of columns. So a tile's
// columns follow each other, and the rows beyond N have entries too.
#pragma once
#include "common.cuh"
#include "tiles.cuh"

#define SKIPPED (-2) // the bin of rows in none

// KernelTile is K_ij of tile i and tile j; a row of it begins at 16 bytes.
typedef float KernelTile[TILE][TILE + 4];

// in_tiles is where column l of a row lies.
__device__ __forceinline__ size_t in_tiles(int row, int l, int wide) { return ((size_t)(row / TILE) * wide + l) * TILE + row % TILE; }

// kernel_value is exp(−x/2) for x ≥ 0, and 0 where the exponent is below −41, beyond which
// the CPU's kernel takes it as 0.
__device__ __forceinline__ float kernel_value(float x) {
    float y = -0.72134752f * x; // −½ log₂ e
    return y < -59.1504964f ? 0.0f : exp2f(y);
}

// kernel_tile writes K_ij = exp(−‖z_i − z_j‖²/2) of tiles i (rows of k) and j (columns), 0 for
// a row with itself. z lies in tiles of wide columns, a multiple of 4.
__device__ __forceinline__ void kernel_tile(KernelTile k, Tiles &t, const float *z, int i, int j, int wide) {
    int tid = threadIdx.x, tx = tid % 16, ty = tid / 16;
    const float4 *x = reinterpret_cast<const float4 *>(z + (size_t)i * wide * TILE), *y = reinterpret_cast<const float4 *>(z + (size_t)j * wide * TILE);
    float sum[4][4] = {};
    for (int l0 = 0; l0 < wide; l0 += DEPTH) {
        __syncthreads();
        if (l0 + ty < wide) {
            *reinterpret_cast<float4 *>(&t.x[ty][4 * tx]) = x[l0 * 16 + tid];
            *reinterpret_cast<float4 *>(&t.y[ty][4 * tx]) = y[l0 * 16 + tid];
        }
        __syncthreads();
        distance_tiles(sum, t, tx, ty, min(DEPTH, wide - l0));
    }
#pragma unroll
    for (int a = 0; a < 4; a++) {
        float4 values = {kernel_value(sum[a][0]), kernel_value(sum[a][1]), kernel_value(sum[a][2]), kernel_value(sum[a][3])};
        *reinterpret_cast<float4 *>(&k[4 * ty + a][4 * tx]) = values;
    }
    if (i == j && tx == ty)
        for (int a = 0; a < 4; a++) k[4 * ty + a][4 * tx + a] = 0;
}
