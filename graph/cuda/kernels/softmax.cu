// Softmax, its logarithm, and cross-entropy.
#include "common.cuh"

// log_softmax is x_j − log Σ_l exp x_l along each of b rows of c, a warp a row.
extern "C" __global__ void log_softmax(float *out, const float *x, int b, int c) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= b) return;
    x += (size_t)row * c;
    float top = -3.402823466e38f;
    for (int j = lane; j < c; j += 32) top = fmaxf(top, x[j]);
    top = warp_max(top);
    float sum = 0;
    for (int j = lane; j < c; j += 32) sum += expf(x[j] - top);
    float log_sum = logf(warp_sum(sum));
    for (int j = lane; j < c; j += 32) out[(size_t)row * c + j] = x[j] - top - log_sum;
}

// log_softmax_grad is g_j − p_j Σ_l g_l with p = exp(log p).
extern "C" __global__ void log_softmax_grad(float *out, const float *logp, const float *g, int b, int c) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= b) return;
    logp += (size_t)row * c;
    g += (size_t)row * c;
    float sum = 0;
    for (int j = lane; j < c; j += 32) sum += g[j];
    sum = warp_sum(sum);
    for (int j = lane; j < c; j += 32) out[(size_t)row * c + j] = g[j] - expf(logp[j]) * sum;
}

// softmax is exp x_j / Σ_l exp x_l along each of b rows of c, a warp a row.
extern "C" __global__ void softmax(float *out, const float *x, int b, int c) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= b) return;
    x += (size_t)row * c;
    float top = -3.402823466e38f;
    for (int j = lane; j < c; j += 32) top = fmaxf(top, x[j]);
    top = warp_max(top);
    float sum = 0;
    for (int j = lane; j < c; j += 32) sum += expf(x[j] - top);
    float part = 1 / warp_sum(sum);
    for (int j = lane; j < c; j += 32) out[(size_t)row * c + j] = expf(x[j] - top) * part;
}

// softmax_grad is y_j (g_j − Σ_l g_l y_l), from y = softmax(x).
extern "C" __global__ void softmax_grad(float *out, const float *y, const float *g, int b, int c) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= b) return;
    y += (size_t)row * c;
    g += (size_t)row * c;
    float mean = 0;
    for (int j = lane; j < c; j += 32) mean = fmaf(g[j], y[j], mean);
    mean = warp_sum(mean);
    for (int j = lane; j < c; j += 32) out[(size_t)row * c + j] = y[j] * (g[j] - mean);
}

// nll is −(1/b) Σ_b log p_b[y_b], or −(1/b) Σ_b Σ_c t_bc log p_bc of targets (b×c) where labels are null. One block.
extern "C" __global__ void __launch_bounds__(256) nll(float *loss, const float *logp, const int *labels, const float *targets, int b, int c) {
    double sum = 0;
    if (labels)
        for (int row = threadIdx.x; row < b; row += 256) sum -= (double)logp[(size_t)row * c + labels[row]];
    else
        for (size_t i = threadIdx.x; i < (size_t)b * c; i += 256)
            if (targets[i] != 0) sum -= (double)targets[i] * (double)logp[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) *loss = (float)(sum / b);
}

// nll_grad is −g/b at each row's label and 0 elsewhere, n = b·c entries, or that times the targets.
extern "C" __global__ void nll_grad(float *out, const int *labels, const float *targets, const float *g, int b, int c, int n) {
    for (unsigned at = first(); at < n; at += stride())
        out[at] = -*g / (float)b * (labels ? (float)(labels[at / c] == at % c) : targets[at]);
}

// cross_entropy is log_softmax of x + row, where there is one, and beside it the gradient of
// nll by x, (g/b) (p_j − 1[j = y_b]) as log_softmax_grad has it, a warp a row.
extern "C" __global__ void cross_entropy(float *logp, float *dx, const float *x, const float *row, const int *labels, const float *g, int b, int c) {
    int at = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (at >= b) return;
    logp += (size_t)at * c;
    dx += (size_t)at * c;
    x += (size_t)at * c;
    float top = -3.402823466e38f;
    for (int j = lane; j < c; j += 32) {
        logp[j] = row ? x[j] + row[j] : x[j];
        top = fmaxf(top, logp[j]);
    }
    top = warp_max(top);
    float sum = 0;
    for (int j = lane; j < c; j += 32) sum += expf(logp[j] - top);
    float log_sum = logf(warp_sum(sum));
    float slope = -*g / (float)b; // by log p at the label
    for (int j = lane; j < c; j += 32) {
        logp[j] = logp[j] - top - log_sum;
        dx[j] = (labels[at] == j ? slope : 0.0f) - expf(logp[j]) * slope;
    }
}
