// Functions that are linear between knots.
#include "common.cuh"

// ramp is r_m(z) = ∫_0^z 1[knot_m−1 < t ≤ knot_m] dt, of so many knots, beyond which the first and last piece do not end.
__device__ __forceinline__ double ramp(float z, const float *knots, int count, int m) {
    double x = z, zero = 0;
    if (m > 0) x = floored(x, (double)knots[m - 1]), zero = floored(zero, (double)knots[m - 1]);
    if (m < count) x = capped(x, (double)knots[m]), zero = capped(zero, (double)knots[m]);
    return x - zero;
}

// ramps is f(z) = Σ_m v_m r_m(z) of n elements, in float64.
extern "C" __global__ void ramps(float *out, const float *z, const float *v, const float *knots, int count, int n) {
    for (unsigned i = first(); i < n; i += stride()) {
        double sum = 0;
        for (int m = 0; m <= count; m++) sum += v[m] * ramp(z[i], knots, count, m);
        out[i] = (float)sum;
    }
}

// ramp_sums is its transpose, h_m = Σ_i g_i r_m(z_i), a block a piece.
extern "C" __global__ void __launch_bounds__(256) ramp_sums(float *out, const float *z, const float *g, const float *knots, int count, int n) {
    double sum = 0;
    for (int i = threadIdx.x; i < n; i += 256) sum += g[i] * ramp(z[i], knots, count, blockIdx.x);
    sum = block_sum(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = (float)sum;
}
