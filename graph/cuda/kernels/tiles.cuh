// Tiles of matrices in shared memory, and the product of two of them.
#pragma once
#include "common.cuh"

#define TILE 64
#define DEPTH 16

struct __align__(16) Tiles {
    float x[DEPTH][TILE + 4], y[DEPTH][TILE + 4]; // the 4 keeps rows at 16 bytes and off one bank
};

// multiply_tiles adds the product of two 16-deep tiles to the thread's 4×4.
__device__ __forceinline__ void multiply_tiles(float sum[4][4], const Tiles &t, int tx, int ty) {
#pragma unroll
    for (int l = 0; l < DEPTH; l++) {
        float4 x = *reinterpret_cast<const float4 *>(&t.x[l][4 * ty]);
        float4 y = *reinterpret_cast<const float4 *>(&t.y[l][4 * tx]);
        float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
        for (int a = 0; a < 4; a++)
#pragma unroll
            for (int b = 0; b < 4; b++) sum[a][b] = fmaf(xs[a], ys[b], sum[a][b]);
    }
}

// distance_tiles adds the squared differences of the first depth rows instead, a multiple of 4.
__device__ __forceinline__ void distance_tiles(float sum[4][4], const Tiles &t, int tx, int ty, int depth) {
    for (int l0 = 0; l0 < depth; l0 += 4)
#pragma unroll
        for (int l = l0; l < l0 + 4; l++) {
            float4 x = *reinterpret_cast<const float4 *>(&t.x[l][4 * ty]);
            float4 y = *reinterpret_cast<const float4 *>(&t.y[l][4 * tx]);
            float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
            for (int a = 0; a < 4; a++)
#pragma unroll
                for (int b = 0; b < 4; b++) {
                    float difference = xs[a] - ys[b];
                    sum[a][b] = fmaf(difference, difference, sum[a][b]);
                }
        }
}
