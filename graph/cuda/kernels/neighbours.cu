// Kernel estimates between rows: the Gaussian kernel and how it pulls, shares of a row,
// and the Jensen–Shannon distance of Local Nets.
#include "common.cuh"
#include "tiles.cuh"

// fetch_rows writes 64 rows of x (rows×d) from row on, columns l0 to l0+15, to a tile.
__device__ __forceinline__ void fetch_rows(float t[DEPTH][TILE + 4], const float *x, int row, int rows, int l0, int d) {
#pragma unroll
    for (int u = 0; u < 4; u++) {
        int i = threadIdx.x + 256 * u, r = row + i / DEPTH, l = l0 + i % DEPTH;
        t[i % DEPTH][i / DEPTH] = r < rows && l < d ? x[(size_t)r * d + l] : 0;
    }
}

// gaussian is K_ij = exp(−c·‖x_i − y_j‖²) of m rows x and n rows y, a 64×64 tile a block,
// from the differences themselves.
extern "C" __global__ void __launch_bounds__(256) gaussian(float *k, const float *x, const float *y, int m, int n, int d, float c) {
    __shared__ Tiles t;
    int row = blockIdx.y * TILE, column = blockIdx.x * TILE, tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    float sum[4][4] = {};
    for (int l0 = 0; l0 < d; l0 += DEPTH) {
        fetch_rows(t.x, x, row, m, l0, d);
        fetch_rows(t.y, y, column, n, l0, d);
        __syncthreads();
        distance_tiles(sum, t, tx, ty, min(DEPTH, d - l0));
        __syncthreads();
    }
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            int i = row + 4 * ty + a, j = column + 4 * tx + b;
            if (i < m && j < n) k[(size_t)i * n + j] = expf(-c * sum[a][b]);
        }
}

// pull is c (p_i − s_i x_i) for n entries of rows of d, p being Σ_j E_ij y_j and s Σ_j E_ij.
extern "C" __global__ void pull(float *out, const float *p, const float *x, const float *s, float c, int d, int n) {
    for (unsigned i = first(); i < n; i += stride()) out[i] = c * (p[i] - s[i / d] * x[i]);
}

// omit_self copies K (n = B·J entries) but for 0 where a row meets itself.
extern "C" __global__ void omit_self(float *out, const float *k, const int *rows, const int *columns, int j, int n) {
    for (unsigned i = first(); i < n; i += stride()) out[i] = rows[i / j] == columns[i % j] ? 0.0f : k[i];
}

#define SHARE_FLOOR 1e-6f

// shares is clamp(K_ij / (Σ_l K_il + ε), ε, 1 − ε), a warp a row.
extern "C" __global__ void shares(float *w, const float *k, int b, int c) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= b) return;
    k += (size_t)row * c;
    float sum = 0;
    for (int j = lane; j < c; j += 32) sum += k[j];
    sum = warp_sum(sum) + SHARE_FLOOR;
    for (int j = lane; j < c; j += 32) w[(size_t)row * c + j] = capped(floored(k[j] / sum, SHARE_FLOOR), 1 - SHARE_FLOOR);
}

// shares_grad is (h_j − Σ_l h_l K_l/n)/n with n = Σ_l K_l + ε and h = g where the share is
// not clamped, 0 elsewhere.
extern "C" __global__ void shares_grad(float *out, const float *k, const float *g, int b, int c) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= b) return;
    k += (size_t)row * c;
    g += (size_t)row * c;
    float sum = 0, mean = 0;
    for (int j = lane; j < c; j += 32) sum += k[j];
    sum = warp_sum(sum) + SHARE_FLOOR;
    for (int j = lane; j < c; j += 32) {
        float w = k[j] / sum;
        if (w > SHARE_FLOOR && w < 1 - SHARE_FLOOR) mean = fmaf(g[j], w, mean);
    }
    mean = warp_sum(mean);
    for (int j = lane; j < c; j += 32) {
        float w = k[j] / sum;
        out[(size_t)row * c + j] = ((w > SHARE_FLOOR && w < 1 - SHARE_FLOOR ? g[j] : 0.0f) - mean) / sum;
    }
}

#define DIVERGENCE_FLOOR 1e-4

__device__ __forceinline__ double bernoulli(double p, double m) { return p * log(p / m) + (1 - p) * log((1 - p) / (1 - m)); }

// divergence is ½[kl(p, m) + kl(q, m)] of clamped p and q with m = (p + q)/2.
__device__ __forceinline__ double divergence(double &p, double q, double &m) {
    p = capped(floored(p, DIVERGENCE_FLOOR), 1 - DIVERGENCE_FLOOR);
    q = capped(floored(q, DIVERGENCE_FLOOR), 1 - DIVERGENCE_FLOOR);
    m = (p + q) / 2;
    return (bernoulli(p, m) + bernoulli(q, m)) / 2;
}

// jensen_shannon is the mean over n entries of v_b √max(divergence, ε), v the weights of the rows of c entries; null: 1. One block.
extern "C" __global__ void __launch_bounds__(256) jensen_shannon(float *out, const float *p, const float *q, const float *weights, int c, int n) {
    double sum = 0;
    for (int i = threadIdx.x; i < n; i += 256) {
        double a = p[i], m;
        sum += (weights ? weights[i / c] : 1.0f) * sqrt(floored(divergence(a, q[i], m), DIVERGENCE_FLOOR));
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) *out = (float)(sum / n);
}

// jensen_shannon_grad is its gradient by p, 0 where p was clamped or the divergence
// floored.
extern "C" __global__ void jensen_shannon_grad(float *out, const float *p, const float *q, const float *weights, const float *g, int c, int n) {
    for (unsigned i = first(); i < n; i += stride()) {
        double a = p[i], m, js = divergence(a, q[i], m), slope = (double)*g / n * (weights ? weights[i / c] : 1.0f);
        out[i] = a != (double)p[i] || js <= DIVERGENCE_FLOOR ? 0.0f : (float)(slope * (log(a / m) - log((1 - a) / (1 - m))) / (4 * sqrt(js)));
    }
}
