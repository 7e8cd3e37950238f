// Matrix products in TF32, a module of its own for compute capability 8.0 and later.
#include "product.cuh"
#include "tf32.cuh"

// Tf32 has each of 8 warps multiply 16×32 entries on the matrix units, 16×8 at a time: factors
// are rounded to 10 bits of mantissa, sums are float32.
struct Tf32 {};

// multiply_by lays out fragments as mma.m16n8k8 has them: in group g of 4 lanes, lane l of it
// holds X of rows g and g+8 and depths l and l+4, Y of depths l and l+4 and column g, and Z
// of those rows and columns 2l and 2l+1.
__device__ __forceinline__ void multiply_by(Tf32, float sum[4][4], const Tiles &t) {
    int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, l = threadIdx.x % 4;
    int row = warp / 2 * 16 + g, column = warp % 2 * 32 + g;
#pragma unroll
    for (int k = 0; k < DEPTH; k += 8) {
        unsigned x[4] = {to_tf32(t.x[k + l][row]), to_tf32(t.x[k + l][row + 8]), to_tf32(t.x[k + l + 4][row]), to_tf32(t.x[k + l + 4][row + 8])};
#pragma unroll
        for (int a = 0; a < 4; a++) {
            unsigned y[2] = {to_tf32(t.y[k + l][column + 8 * a]), to_tf32(t.y[k + l + 4][column + 8 * a])};
            multiply_fragments(sum[a], x, y);
        }
    }
}

__device__ __forceinline__ int row_of(Tf32, int, int b) { return threadIdx.x / 64 * 16 + threadIdx.x % 32 / 4 + b / 2 * 8; }

__device__ __forceinline__ int column_of(Tf32, int a, int b) { return threadIdx.x / 32 % 2 * 32 + 8 * a + threadIdx.x % 4 * 2 + b % 2; }

extern "C" __global__ void __launch_bounds__(256, 3) product_tf32_nn(float *z, const float *x, const float *y, int m, int n, int k, int last, int count, int inner, int ldx, int outer_x, int inner_x,
                                                             int ldy, int outer_y, int inner_y, int ldz, int outer_z, int inner_z) {
    products<Tf32, false, false>(z, x, y, m, n, k, last, count, inner, ldx, outer_x, inner_x, ldy, outer_y, inner_y, ldz, outer_z, inner_z);
}

extern "C" __global__ void __launch_bounds__(256, 3) product_tf32_nt(float *z, const float *x, const float *y, int m, int n, int k, int last, int count, int inner, int ldx, int outer_x, int inner_x,
                                                             int ldy, int outer_y, int inner_y, int ldz, int outer_z, int inner_z) {
    products<Tf32, false, true>(z, x, y, m, n, k, last, count, inner, ldx, outer_x, inner_x, ldy, outer_y, inner_y, ldz, outer_z, inner_z);
}

extern "C" __global__ void __launch_bounds__(256, 3) product_tf32_tn(float *z, const float *x, const float *y, int m, int n, int k, int last, int count, int inner, int ldx, int outer_x, int inner_x,
                                                             int ldy, int outer_y, int inner_y, int ldz, int outer_z, int inner_z) {
    products<Tf32, true, false>(z, x, y, m, n, k, last, count, inner, ldx, outer_x, inner_x, ldy, outer_y, inner_y, ldz, outer_z, inner_z);
}
