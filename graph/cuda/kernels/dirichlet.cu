// The bilinear calibrator: outer products of codewords and the fused Dirichlet
// scores of forms A (B×C², entry i·C+j). A column block takes 32 of the B·C pairs
// (b, j), in the order of memory, and shares the C classes i among its rows, so a warp
// reads 32 neighbours of A at a time and no B×C² intermediate but A itself is stored.
#include "common.cuh"
#include "elementary.cuh"

// outer is M_k = a_k b_kᵀ, a warp per row (k, i) of n = K·C.
extern "C" __global__ void outer(float *out, const float *a, const float *b, int c, int d, int n) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= n) return;
    b += (size_t)(row / c) * d;
    for (int j = threadIdx.x % 32; j < d; j += 32) out[(size_t)row * d + j] = a[row] * b[j];
}

// left_rows makes y_ki = Σ_j G_k[i,j] b_kj, a warp of the column block per row (k, i) of n.
__device__ __forceinline__ void left_rows(float *y, const float *g, const float *b, int block, int c, int d, int n) {
    int row = block * SHARERS + threadIdx.y;
    if (row >= n) return;
    float sum = 0;
    for (int j = threadIdx.x; j < d; j += 32) sum = fmaf(g[(size_t)row * d + j], b[(size_t)(row / c) * d + j], sum);
    sum = warp_sum(sum);
    if (threadIdx.x == 0) y[row] = sum;
}

// right_columns makes y_kj = Σ_i G_k[i,j] a_ki for n = K·D pairs (k, j).
__device__ __forceinline__ void right_columns(float *y, const float *g, const float *a, int block, int c, int d, int n) {
    int at = block * COLUMNS + threadIdx.x, k = at / d, j = at % d;
    float sum = 0;
    if (at < n)
        for (int i = threadIdx.y; i < c; i += SHARERS) sum = fmaf(g[((size_t)k * c + i) * d + j], a[(size_t)k * c + i], sum);
    sum = column_sum(sum);
    if (threadIdx.y == 0 && at < n) y[at] = sum;
}

// outer_sides contracts G (K×(C·D)) with b on its right and with a on its left: the first
// `left` blocks make dA (K×C), those after them dB (K×D).
extern "C" __global__ void __launch_bounds__(256) outer_sides(float *da, float *db, const float *g, const float *a, const float *b, int left, int k, int c, int d) {
    if (blockIdx.x < left)
        left_rows(da, g, b, blockIdx.x, c, d, k * c);
    else
        right_columns(db, g, a, blockIdx.x - left, c, d, k * d);
}

// dirichlet_scores is Σ_i (α_ij − 1 + δ·1[i=j]) log p̂_i − Σ_i ln Γ(α_ij) + ln Γ(Σ_i α_ij)
// with α = softplus(A) + ε, for n = B·C pairs (b, j).
extern "C" __global__ void __launch_bounds__(256) dirichlet_scores(float *score, const float *a, const float *logp, int c, float delta, int n) {
    int at = blockIdx.x * COLUMNS + threadIdx.x, b = at / c, j = at % c;
    float total = 0, rest = 0;
    const float *x = a + ((size_t)b * c + threadIdx.y) * c + j;
    if (at < n)
        for (int i = threadIdx.y; i < c; i += SHARERS, x += SHARERS * c) {
            float alpha = softplus(*x) + ALPHA_FLOOR;
            total += alpha;
            rest += fmaf(alpha - 1, logp[b * c + i], -log_gamma(alpha));
        }
    total = column_sum(total);
    rest = column_sum(rest);
    if (threadIdx.y == 0 && at < n) score[at] = rest + log_gamma(total) + delta * logp[at];
}

// dirichlet_by_form is ∂L/∂A_ij = g_j (log p̂_i − ψ(α_ij) + ψ(Σ_l α_lj)) · sigmoid(A_ij).
extern "C" __global__ void __launch_bounds__(256) dirichlet_by_form(float *da, const float *a, const float *logp, const float *g, int c, int n) {
    int at = blockIdx.x * COLUMNS + threadIdx.x, b = at / c, j = at % c;
    float total = 0;
    size_t top = ((size_t)b * c + threadIdx.y) * c + j;
    const float *x = a + top;
    if (at < n)
        for (int i = threadIdx.y; i < c; i += SHARERS, x += SHARERS * c) total += softplus(*x) + ALPHA_FLOOR;
    float psi = digamma(column_sum(total));
    if (at >= n) return;
    float slope = g[at];
    x = a + top;
    da += top;
    for (int i = threadIdx.y; i < c; i += SHARERS, x += SHARERS * c, da += SHARERS * c)
        *da = slope * (logp[b * c + i] - digamma(softplus(*x) + ALPHA_FLOOR) + psi) * sigmoid(*x);
}

// dirichlet_by_input is ∂L/∂log p̂_i = Σ_j g_j (α_ij − 1 + δ·1[i=j]), a warp per (b, i).
extern "C" __global__ void dirichlet_by_input(float *dlogp, const float *a, const float *g, int c, float delta, int n) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= n) return;
    float sum = 0;
    for (int j = threadIdx.x % 32; j < c; j += 32) {
        float alpha = softplus(a[(size_t)row * c + j]) + ALPHA_FLOOR;
        sum = fmaf(g[(size_t)(row / c) * c + j], alpha - 1, sum);
    }
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) dlogp[row] = sum + delta * g[row];
}
