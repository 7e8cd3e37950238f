// Batch and layer normalization. Channels are those of N×C×H×W images, or the columns of
// a matrix, whose planes are single numbers.
#include "common.cuh"

// channel_parts sums, for channel blockIdx.x and part blockIdx.y of its n·area values, x,
// (x − μ)² or (x − μ) g; sums is parts×C.
extern "C" __global__ void __launch_bounds__(256) channel_parts(double *sums, const float *x, const float *mean, const float *g, int f, int n, int channels, int area, int part) {
    int c = blockIdx.x, end = min(n * area, (int)(blockIdx.y + 1) * part);
    float mu = mean ? mean[c] : 0, sum = 0;
    for (int i = blockIdx.y * part + threadIdx.x; i < end; i += 256) {
        size_t at = ((size_t)(i / area) * channels + c) * area + i % area;
        float v = x[at] - mu;
        sum += f == 0 ? v : f == 1 ? v * v : v * g[at];
    }
    double all = block_sum(sum);
    if (threadIdx.x == 0) sums[(size_t)blockIdx.y * channels + c] = all;
}

// channel_finish adds the parts in their order, divides by count, and multiplies by
// 1/√(v + ε) where there are variances.
extern "C" __global__ void channel_finish(float *out, const double *sums, const float *variance, float epsilon, float count, int parts, int channels) {
    for (unsigned c = first(); c < channels; c += stride()) {
        double sum = 0;
        for (int p = 0; p < parts; p++) sum += sums[(size_t)p * channels + c];
        float v = (float)(sum / count);
        out[c] = variance ? v / sqrtf(variance[c] + epsilon) : v;
    }
}

// batch_norm is γ (x − μ)/√(v + ε) + β.
extern "C" __global__ void batch_norm(float *y, const float *x, const float *mean, const float *variance, const float *gamma, const float *beta, float epsilon, int channels, int area, int n) {
    for (unsigned i = first(); i < n; i += stride()) {
        int c = i / area % channels;
        y[i] = fmaf(gamma[c] / sqrtf(variance[c] + epsilon), x[i] - mean[c], beta[c]);
    }
}

// batch_norm_input is γ/√(v + ε) (g − mean g − x̂ mean(g x̂)) from Σ g x̂ and Σ g over the
// count values of a channel.
extern "C" __global__ void batch_norm_input(float *dx, const float *x, const float *mean, const float *variance, const float *gamma, const float *g, const float *sum_gx, const float *sum_g,
                                            float epsilon, float count, int channels, int area, int n) {
    for (unsigned i = first(); i < n; i += stride()) {
        int c = i / area % channels;
        float root = 1 / sqrtf(variance[c] + epsilon), normal = (x[i] - mean[c]) * root;
        dx[i] = gamma[c] * root * (g[i] - sum_g[c] / count - normal * (sum_gx[c] / count));
    }
}

// row_moments is the mean of a row and 1/√(var + ε), in every lane of the row's warp.
__device__ __forceinline__ void row_moments(const float *row, int m, float epsilon, float &mean, float &root) {
    int lane = threadIdx.x % 32;
    float sum = 0, squares = 0;
    for (int j = lane; j < m; j += 32) sum += row[j];
    mean = warp_sum(sum) / (float)m;
    for (int j = lane; j < m; j += 32) squares = fmaf(row[j] - mean, row[j] - mean, squares);
    root = 1 / sqrtf(warp_sum(squares) / (float)m + epsilon);
}

// layer_norm is γ_j (x_j − mean x)/√(var x + ε) + β_j along each of b rows, a warp a row.
extern "C" __global__ void layer_norm(float *y, const float *x, const float *gamma, const float *beta, float epsilon, int b, int m) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= b) return;
    float mean, root;
    x += (size_t)row * m;
    row_moments(x, m, epsilon, mean, root);
    for (int j = threadIdx.x % 32; j < m; j += 32) y[(size_t)row * m + j] = fmaf(gamma[j] * root, x[j] - mean, beta[j]);
}

// layer_norm_input is (h − mean h − x̂ mean(h x̂))/√(var + ε) with h = γ g, a warp a row.
extern "C" __global__ void layer_norm_input(float *dx, const float *x, const float *gamma, const float *g, float epsilon, int b, int m) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= b) return;
    float mean, root, sum = 0, product = 0;
    x += (size_t)row * m;
    g += (size_t)row * m;
    row_moments(x, m, epsilon, mean, root);
    for (int j = lane; j < m; j += 32) {
        float h = gamma[j] * g[j];
        sum += h;
        product = fmaf(h, (x[j] - mean) * root, product);
    }
    sum = warp_sum(sum) / (float)m;
    product = warp_sum(product) / (float)m;
    for (int j = lane; j < m; j += 32) dx[(size_t)row * m + j] = root * (gamma[j] * g[j] - sum - (x[j] - mean) * root * product);
}

// layer_moments writes each row's mean and 1/√(var + ε), a warp a row.
extern "C" __global__ void layer_moments(float *moments, const float *x, float epsilon, int b, int m) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= b) return;
    float mean, root;
    row_moments(x + (size_t)row * m, m, epsilon, mean, root);
    if (threadIdx.x % 32 == 0) moments[2 * row] = mean, moments[2 * row + 1] = root;
}

// layer_norm_scale is Σ_b g x̂.
extern "C" __global__ void __launch_bounds__(256) layer_norm_scale(float *dgamma, const float *x, const float *g, const float *moments, int b, int m) {
    int j = blockIdx.x * COLUMNS + threadIdx.x;
    float sum = 0;
    if (j < m)
        for (int row = threadIdx.y; row < b; row += SHARERS) {
            size_t at = (size_t)row * m + j;
            sum = fmaf(g[at], (x[at] - moments[2 * row]) * moments[2 * row + 1], sum);
        }
    sum = column_sum(sum);
    if (threadIdx.y == 0 && j < m) dgamma[j] = sum;
}
