// Moving and gating columns of a matrix, tokens of numbers, and means of planes.
#include "common.cuh"

// copy_columns copies count columns from column `from` of x (wide columns) to column `to`
// of out (width columns), n = rows·count entries.
extern "C" __global__ void copy_columns(float *out, const float *x, int to, int width, int from, int wide, int count, int n) {
    for (unsigned i = first(); i < n; i += stride()) out[(size_t)(i / count) * width + to + i % count] = x[(size_t)(i / count) * wide + from + i % count];
}

// sum_blocks adds blocks of width columns each of every group of x, n sums.
extern "C" __global__ void sum_blocks(float *out, const float *x, int blocks, int width, int n) {
    for (unsigned i = first(); i < n; i += stride()) {
        float sum = 0;
        for (int b = 0; b < blocks; b++) sum += x[((size_t)(i / width) * blocks + b) * width + i % width];
        out[i] = sum;
    }
}

// repeat_blocks is the transpose, n entries of x.
extern "C" __global__ void repeat_blocks(float *x, const float *y, int blocks, int width, int n) {
    for (unsigned i = first(); i < n; i += stride()) x[i] = y[(size_t)(i / (blocks * width)) * width + i % width];
}

// category reads column j of x (n×m) as whole numbers.
extern "C" __global__ void category(int *out, const float *x, int j, int m, int n) {
    for (unsigned i = first(); i < n; i += stride()) out[i] = (int)x[(size_t)i * m + j];
}

// reglu is a ⊙ ReLU(b) of the halves [a, b] of each row of x, n entries of h a row.
extern "C" __global__ void reglu(float *out, const float *x, int h, int n) {
    for (unsigned i = first(); i < n; i += stride()) {
        const float *a = x + i / h * 2 * h + i % h;
        out[i] = a[0] * floored(a[h], 0.0f);
    }
}

// reglu_grad is [g ReLU(b), g a where b > 0].
extern "C" __global__ void reglu_grad(float *out, const float *x, const float *g, int h, int n) {
    for (unsigned i = first(); i < n; i += stride()) {
        size_t at = i / h * 2 * h + i % h;
        float a = x[at], b = x[at + h];
        out[at] = b > 0 ? g[i] * b : 0.0f;
        out[at + h] = b > 0 ? g[i] * a : 0.0f;
    }
}

// tokens is t_bf = x_bf w_f, n = B·F·d entries.
extern "C" __global__ void tokens(float *out, const float *x, const float *w, int features, int d, int n) {
    for (unsigned i = first(); i < n; i += stride()) out[i] = x[i / d] * w[i % (features * d)];
}

// token_inputs is Σ_k w_fk g_bfk, a warp per (b, f).
extern "C" __global__ void token_inputs(float *dx, const float *w, const float *g, int features, int d, int n) {
    int at = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (at >= n) return;
    float sum = 0;
    for (int k = threadIdx.x % 32; k < d; k += 32) sum = fmaf(w[(size_t)(at % features) * d + k], g[(size_t)at * d + k], sum);
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) dx[at] = sum;
}

// token_weights is Σ_b x_bf g_bfk for n = F·d pairs (f, k).
extern "C" __global__ void __launch_bounds__(256) token_weights(float *dw, const float *x, const float *g, int b, int features, int d) {
    int at = blockIdx.x * COLUMNS + threadIdx.x, n = features * d;
    float sum = 0;
    if (at < n)
        for (int row = threadIdx.y; row < b; row += SHARERS) sum = fmaf(x[(size_t)row * features + at / d], g[(size_t)row * n + at], sum);
    sum = column_sum(sum);
    if (threadIdx.y == 0 && at < n) dw[at] = sum;
}

// plane_spread gives each of n places an equal part of its plane's g.
extern "C" __global__ void plane_spread(float *out, const float *g, int area, int n) {
    for (unsigned i = first(); i < n; i += stride()) out[i] = g[i / area] / (float)area;
}
