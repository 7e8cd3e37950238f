// Functions of single elements, and sums along rows and columns.
#include "common.cuh"
#include "elementary.cuh"

// map applies function f, of the order of cuda.Map, to n elements.
extern "C" __global__ void map(float *out, const float *x, int f, float v, int n) {
    for (unsigned i = first(); i < n; i += stride()) {
        float a = x[i], y = 0;
        switch (f) {
        case 0: y = softplus(a); break;
        case 1: y = sigmoid(a); break;
        case 2: y = floored(a, 0.0f); break;
        case 3: y = expf(a); break;
        case 4: y = log_gamma(a); break;
        case 5: y = digamma(a); break;
        case 6: y = a * (1 - a); break;
        case 7: y = v * a; break;
        case 8: y = logf(floored(a, v)); break;
        case 9: y = trigamma(a); break;
        case 10: y = a > 0 ? a : expm1f(a); break;
        }
        out[i] = y;
    }
}

// combine applies function f, of the order of cuda.Combination, to pairs; element i
// of x goes with element i mod period of y.
extern "C" __global__ void combine(float *out, const float *x, const float *y, int f, float v, float u, int period, int n) {
    for (unsigned i = first(); i < n; i += stride()) {
        float a = x[i], b = y[i % period], z = 0;
        switch (f) {
        case 0: z = a + b; break;
        case 1: z = a * b; break;
        case 2: z = blended(v, a, u, b); break;
        case 3: z = a > v ? b / a : 0.0f; break;
        case 4: z = a > v ? b : 0.0f; break;
        case 5: z = b * capped(1 + a, 1.0f); break;
        }
        out[i] = z;
    }
}

// repeat lays copies of x (period elements) one after the other.
extern "C" __global__ void repeat(float *out, const float *x, int period, int n) {
    for (unsigned i = first(); i < n; i += stride()) out[i] = x[i % period];
}

// sum_rows adds the rows of x (b×c).
extern "C" __global__ void __launch_bounds__(256) sum_rows(float *out, const float *x, int b, int c) {
    int j = blockIdx.x * COLUMNS + threadIdx.x;
    float sum = 0;
    if (j < c)
        for (int row = threadIdx.y; row < b; row += SHARERS) sum += x[(size_t)row * c + j];
    sum = column_sum(sum);
    if (threadIdx.y == 0 && j < c) out[j] = sum;
}

// sum_columns adds the columns of x (b×c), a warp a row.
extern "C" __global__ void sum_columns(float *out, const float *x, int b, int c) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= b) return;
    float sum = 0;
    for (int j = threadIdx.x % 32; j < c; j += 32) sum += x[(size_t)row * c + j];
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) out[row] = sum;
}

// sum_all adds n elements in float64, times those of y where it is not null. One block.
extern "C" __global__ void __launch_bounds__(256) sum_all(float *out, const float *x, const float *y, int n) {
    double sum = 0;
    for (int i = threadIdx.x; i < n; i += 256) sum += (double)x[i] * (y ? (double)y[i] : 1);
    sum = block_sum(sum);
    if (threadIdx.x == 0) *out = (float)sum;
}
