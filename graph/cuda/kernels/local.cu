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
#include "common.cuh"
#include "tiles.cuh"

#define SKIPPED (-2)
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
    int tid = threadIdx.x, tx = tid % 16, ty = tid / 16;
    int tiles = (n + TILE - 1) / TILE, mine = blockIdx.x;
    size_t lane = (size_t)3 * classes * n;
    for (int g = 0; g < waves; g++) {
        int v = wave + g, other = (mine + v) % tiles;
        if (2 * v > tiles || (2 * v == tiles && mine >= v)) break; // that pair has met already
        float sum[4][4] = {};
        for (int l0 = 0; l0 < dim; l0 += DEPTH) {
            __syncthreads();
#pragma unroll
            for (int u = 0; u < 4; u++) {
                int i = tid + 256 * u, r = i / DEPTH, l = l0 + i % DEPTH;
                t.x[i % DEPTH][r] = mine * TILE + r < n && l < dim ? z[(size_t)(mine * TILE + r) * dim + l] : 0;
                t.y[i % DEPTH][r] = other * TILE + r < n && l < dim ? z[(size_t)(other * TILE + r) * dim + l] : 0;
            }
            __syncthreads();
#pragma unroll
            for (int l = 0; l < DEPTH; l++)
#pragma unroll
                for (int a = 0; a < 4; a++)
#pragma unroll
                    for (int b = 0; b < 4; b++) {
                        float difference = t.x[l][4 * ty + a] - t.y[l][4 * tx + b];
                        sum[a][b] = fmaf(difference, difference, sum[a][b]);
                    }
        }
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++) k[4 * ty + a][4 * tx + b] = v == 0 && 4 * ty + a == 4 * tx + b ? 0.0f : expf(-0.5f * sum[a][b]);
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
