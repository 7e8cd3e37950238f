// Matrix products in float32.
#include "product.cuh"

extern "C" __global__ void __launch_bounds__(256, 3) product_nn(float *z, const float *x, const float *y, int m, int n, int k, int last, int count, int inner, int ldx, int outer_x, int inner_x,
                                                             int ldy, int outer_y, int inner_y, int ldz, int outer_z, int inner_z) {
    products<Float32, false, false>(z, x, y, m, n, k, last, count, inner, ldx, outer_x, inner_x, ldy, outer_y, inner_y, ldz, outer_z, inner_z);
}

extern "C" __global__ void __launch_bounds__(256, 3) product_nt(float *z, const float *x, const float *y, int m, int n, int k, int last, int count, int inner, int ldx, int outer_x, int inner_x,
                                                             int ldy, int outer_y, int inner_y, int ldz, int outer_z, int inner_z) {
    products<Float32, false, true>(z, x, y, m, n, k, last, count, inner, ldx, outer_x, inner_x, ldy, outer_y, inner_y, ldz, outer_z, inner_z);
}

extern "C" __global__ void __launch_bounds__(256, 3) product_tn(float *z, const float *x, const float *y, int m, int n, int k, int last, int count, int inner, int ldx, int outer_x, int inner_x,
                                                             int ldy, int outer_y, int inner_y, int ldz, int outer_z, int inner_z) {
    products<Float32, true, false>(z, x, y, m, n, k, last, count, inner, ldx, outer_x, inner_x, ldy, outer_y, inner_y, ldz, outer_z, inner_z);
}

// sum_parts adds arrays of n numbers that lie one after the other, in their order.
extern "C" __global__ void sum_parts(float *out, const float *parts, int n, int count) {
    for (unsigned i = first(); i < n; i += stride()) {
        float sum = parts[i];
        for (int p = 1; p < count; p++) sum += parts[(size_t)p * n + i];
        out[i] = sum;
    }
}
