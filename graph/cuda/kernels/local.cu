// The kernel sums of the local metrics, for all classes at once,
//
//   S_ic = Σ_j K_ij,  Q_ic = Σ_j K_ij²,  R_ic = Σ_j K_ij e_jc ,  j ≠ i, bin_c(j) = bin_c(i),
//
// with K_ij = exp(−‖z_i − z_j‖²/2), z in units of the bandwidth.
//
// Rows are cut into T tiles of 64. Wave v pairs each tile t with tile (t+v) mod T;
// waves 0 to T/2 pair every two tiles once, and each kernel value serves both sides. In
// a wave every tile is the first of one pair and the second of one. So a block that
// takes tile t through several waves adds its first side to sums that are its own, and
// the second side of the g-th wave to lane g of sums, where no other block of the launch
// writes that tile: no atomics, one order of terms, and memory of N·C, never N².
#include "kernel_tile.cuh"

#define AT_ONCE 8 // classes staged at a time, half of them for each half of the block

struct __align__(16) Staged {
    int bin[AT_ONCE][2][TILE];
    float e[AT_ONCE][2][TILE];
};

// add_side adds the other side's 64 rows to row r of one side, for 4 classes from c on;
// k is the row's (side 0) or column's (side 1) kernel values, step apart.
__device__ __forceinline__ void add_side(double *sums, const Staged &s, const float *k, int step, int at, int side, int r, int c, int row, int n, int classes) {
    int mine[4];
    float sum[4][3] = {};
#pragma unroll
    for (int u = 0; u < 4; u++) mine[u] = s.bin[at + u][side][r];
    for (int o = 0; o < TILE; o += 4) {
        float v[4] = {k[o * step], k[(o + 1) * step], k[(o + 2) * step], k[(o + 3) * step]};
#pragma unroll
        for (int u = 0; u < 4; u++) {
            int4 b = *reinterpret_cast<const int4 *>(&s.bin[at + u][1 - side][o]);
            float4 e = *reinterpret_cast<const float4 *>(&s.e[at + u][1 - side][o]);
            int bins[4] = {b.x, b.y, b.z, b.w};
            float es[4] = {e.x, e.y, e.z, e.w};
#pragma unroll
            for (int l = 0; l < 4; l++)
                if (bins[l] == mine[u]) {
                    sum[u][0] += v[l];
                    sum[u][1] = fmaf(v[l], v[l], sum[u][1]);
                    sum[u][2] = fmaf(v[l], es[l], sum[u][2]);
                }
        }
    }
    size_t plane = (size_t)classes * n;
#pragma unroll
    for (int u = 0; u < 4; u++)
        if (mine[u] != SKIPPED)
            for (int m = 0; m < 3; m++) sums[m * plane + (size_t)(c + u) * n + row] += (double)sum[u][m];
}

// local_waves takes tile blockIdx.x through waves from wave on. sums is
// (1+lanes)×3×C×N and starts at zero; e and bin are C×N, bin being SKIPPED where a row
// is in no bin of the class; z is N×dim.
extern "C" __global__ void __launch_bounds__(256) local_waves(double *sums, const float *z, const float *e, const int *bin, int n, int dim, int classes, int wave, int waves) {
    __shared__ Tiles t;
    __shared__ Staged s;
    __shared__ float k[TILE][TILE + 1];
    int tid = threadIdx.x, tiles = (n + TILE - 1) / TILE, mine = blockIdx.x;
    size_t lane = (size_t)3 * classes * n;
    for (int g = 0; g < waves; g++) {
        int v = wave + g, other = (mine + v) % tiles;
        if (2 * v > tiles || (2 * v == tiles && mine >= v)) break; // that pair has met already
        kernel_tile(k, t, z, mine, other, n, dim);
        for (int c0 = 0; c0 < classes; c0 += AT_ONCE) {
            __syncthreads();
            for (int i = tid; i < AT_ONCE * 2 * TILE; i += 256) {
                int c = c0 + i / (2 * TILE), side = i / TILE % 2, r = i % TILE;
                int row = (side == 0 ? mine : other) * TILE + r;
                bool there = c < classes && row < n;
                s.bin[i / (2 * TILE)][side][r] = there ? bin[(size_t)c * n + row] : SKIPPED;
                s.e[i / (2 * TILE)][side][r] = there ? e[(size_t)c * n + row] : 0.0f;
            }
            __syncthreads();
            int r = tid % TILE, side = tid / TILE % 2, at = tid / (2 * TILE) * 4;
            if (side == 0)
                add_side(sums, s, &k[r][0], 1, at, 0, r, c0 + at, mine * TILE + r, n, classes);
            else if (v > 0)
                add_side(sums + (1 + g) * lane, s, &k[0][r], TILE + 1, at, 1, r, c0 + at, other * TILE + r, n, classes);
        }
    }
}

// local_finish adds the lanes of sums in their order and gives, N×C row by row, the
// residual (R + e)/(S + 1), K_ii being 1, and the effective sample size S²/Q; NaN where
// the bin was skipped.
extern "C" __global__ void local_finish(double *residual, double *ess, const double *sums, const float *e, const int *bin, int n, int classes, int lanes) {
    size_t plane = (size_t)classes * n;
    for (long long i = first(); i < (long long)plane; i += stride()) {
        int row = i / classes, c = i % classes;
        size_t at = (size_t)c * n + row;
        double s = 0, q = 0, r = 0;
        for (int l = 0; l < lanes; l++) {
            s += sums[(3 * l + 0) * plane + at];
            q += sums[(3 * l + 1) * plane + at];
            r += sums[(3 * l + 2) * plane + at];
        }
        double nothing = 0.0;
        bool skipped = bin[at] == SKIPPED;
        residual[i] = skipped ? nothing / nothing : (r + (double)e[at]) / (s + 1);
        ess[i] = skipped ? nothing / nothing : q > 0 ? s * s / q : 0;
    }
}

// redraw_sums adds, for each of count label vectors and each row i of tile blockIdx.x,
// Y_ic = Σ_j K_ij 1[y_j = c] over j in the same bin of class c: a row is in one class per
// vector, so a pair costs one addition, whatever C. y is count×C×N and starts at zero;
// labels are count×N. Each thread adds to its own row's sums, in the order of j.
extern "C" __global__ void __launch_bounds__(256) redraw_sums(float *y, const float *z, const int *labels, const int *bin, int n, int dim, int classes, int count) {
    __shared__ Tiles t;
    __shared__ float k[TILE][TILE + 1];
    int mine = blockIdx.x, r = threadIdx.x % TILE, row = mine * TILE + r;
    for (int other = 0; other * TILE < n; other++) {
        kernel_tile(k, t, z, mine, other, n, dim);
        __syncthreads();
        if (row < n)
            for (int v = threadIdx.x / TILE; v < count; v += 256 / TILE)
                for (int o = 0; o < min(TILE, n - other * TILE); o++) {
                    int j = other * TILE + o, c = labels[(size_t)v * n + j];
                    int b = bin[(size_t)c * n + j];
                    if (b != SKIPPED && b == bin[(size_t)c * n + row]) y[((size_t)v * classes + c) * n + row] += k[r][o];
                }
    }
}

// redrawn_residual is |R_ic + Y_ic(observed) − Y_ic(redrawn) + e_ic|/(S_ic + 1) with e_ic of
// the redrawn labels, or −1 where the row is in no bin of the class.
__device__ __forceinline__ double redrawn_residual(const double *sums, const float *observed, const float *y, const float *e, const int *bin, const int *label, const int *redrawn,
                                                   int c, int row, int n, int classes, int lanes) {
    size_t plane = (size_t)classes * n, at = (size_t)c * n + row;
    if (bin[at] == SKIPPED) return -1;
    double s = 0, r = 0;
    for (int l = 0; l < lanes; l++) {
        s += sums[(3 * l + 0) * plane + at];
        r += sums[(3 * l + 2) * plane + at];
    }
    double own = (double)e[at] + (label[row] == c) - (redrawn[row] == c);
    return fabs(r + (double)observed[at] - (double)y[at] + own) / (s + 1);
}

// redraw_tally gives, for vector blockIdx.x and class blockIdx.y, the sum of the residuals
// in units of 2⁻⁴⁰, whose order does not matter, how many there are, and the largest.
extern "C" __global__ void __launch_bounds__(256) redraw_tally(long long *sum, long long *weight, double *most, const double *sums, const float *observed, const float *y, const float *e,
                                                               const int *bin, const int *label, const int *redrawn, int n, int classes, int lanes) {
    __shared__ long long part[2][256];
    __shared__ double top[256];
    int v = blockIdx.x, c = blockIdx.y, tid = threadIdx.x;
    long long total = 0, counted = 0;
    double largest = 0;
    for (int row = tid; row < n; row += 256) {
        double x = redrawn_residual(sums, observed, y + (size_t)v * classes * n, e, bin, label, redrawn + (size_t)v * n, c, row, n, classes, lanes);
        if (x < 0) continue;
        total += llround(x * 1099511627776.0);
        counted++;
        largest = fmax(largest, x);
    }
    part[0][tid] = total, part[1][tid] = counted, top[tid] = largest;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (tid < half) {
            part[0][tid] += part[0][tid + half];
            part[1][tid] += part[1][tid + half];
            top[tid] = fmax(top[tid], top[tid + half]);
        }
    }
    if (tid == 0) {
        sum[v * classes + c] = part[0][0];
        weight[v * classes + c] = part[1][0];
        most[v * classes + c] = top[0];
    }
}

// redraw_norm gives, for vector blockIdx.x, the largest Σ_c of a row's residuals.
extern "C" __global__ void __launch_bounds__(256) redraw_norm(double *norm, const double *sums, const float *observed, const float *y, const float *e, const int *bin, const int *label,
                                                              const int *redrawn, int n, int classes, int lanes) {
    __shared__ double top[256];
    int v = blockIdx.x, tid = threadIdx.x;
    double largest = 0;
    for (int row = tid; row < n; row += 256) {
        double total = 0;
        for (int c = 0; c < classes; c++)
            total += fmax(0.0, redrawn_residual(sums, observed, y + (size_t)v * classes * n, e, bin, label, redrawn + (size_t)v * n, c, row, n, classes, lanes));
        largest = fmax(largest, total);
    }
    top[tid] = largest;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (tid < half) top[tid] = fmax(top[tid], top[tid + half]);
    }
    if (tid == 0) norm[v] = top[0];
}
