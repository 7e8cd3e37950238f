// The kernel sums of the local metrics, for all classes at once,
//
//   S_ic = Σ_j K_ij,  Q_ic = Σ_j K_ij²,  R_ic = Σ_j K_ij e_jc ,  j ≠ i, bin_c(j) = bin_c(i),
//
// with K_ij = exp(−‖z_i − z_j‖²/2), z in units of the bandwidth. z, e, bin and the sums lie in
// tiles of d or C columns; bin is SKIPPED where a row is in no bin of the class.
//
// Rows are cut into T tiles of 64. Wave v pairs each tile t with tile (t+v) mod T;
// waves 0 to T/2 pair every two tiles once, and each kernel value serves both sides. In
// a wave every tile is the first of one pair and the second of one. So wave g of a launch
// has two lanes of sums, one for each side, where no other block of the launch writes
// that tile: no atomics, one order of terms, and memory of N·C, never N².
#include "kernel_tile.cuh"

// to_tiles lays n rows of 4-byte words in tiles of wide columns, the first columns of them
// from x, whose rows lie row_apart and columns column_apart apart; what is in no row or
// column becomes fill. count is the number of entries.
extern "C" __global__ void to_tiles(int *out, const int *x, int n, int columns, int wide, int row_apart, int column_apart, int fill, int count) {
    for (unsigned i = first(); i < count; i += stride()) {
        int l = i / TILE % wide, row = i / TILE / wide * TILE + i % TILE;
        out[i] = row < n && l < columns ? x[(size_t)row * row_apart + (size_t)l * column_apart] : fill;
    }
}

#define AT_ONCE 8 // classes staged at a time, 2 for each of the 4 warps of a side

struct __align__(16) Staged {
    int bin[2][AT_ONCE][TILE];
    float e[2][AT_ONCE][TILE];
};

// add_side adds the other side's 64 rows to the rows of one side, 2 a lane, for the staged
// classes at and at+1; sums are those of the side's tile from the first staged class on, the
// three kinds cells apart.
template <int SIDE> __device__ __forceinline__ void add_side(double *sums, size_t cells, const Staged &s, const KernelTile &k, int at) {
    int lane = threadIdx.x % 32;
    int rows[2] = {SIDE == 0 ? lane : 2 * lane, SIDE == 0 ? lane + 32 : 2 * lane + 1};
    int mine[2][2];
    float sum[2][2][3] = {};
#pragma unroll
    for (int u = 0; u < 2; u++)
#pragma unroll
        for (int r = 0; r < 2; r++) mine[u][r] = s.bin[SIDE][at + u][rows[r]];
#pragma unroll 2
    for (int o = 0; o < TILE; o += 4) {
        float v[2][4]; // of either row with the other side's rows o to o+3
        if (SIDE == 0) {
#pragma unroll
            for (int r = 0; r < 2; r++) {
                float4 x = *reinterpret_cast<const float4 *>(&k[rows[r]][o]);
                v[r][0] = x.x, v[r][1] = x.y, v[r][2] = x.z, v[r][3] = x.w;
            }
        } else {
#pragma unroll
            for (int l = 0; l < 4; l++) {
                float2 x = *reinterpret_cast<const float2 *>(&k[o + l][2 * lane]);
                v[0][l] = x.x, v[1][l] = x.y;
            }
        }
#pragma unroll
        for (int u = 0; u < 2; u++) {
            int4 b = *reinterpret_cast<const int4 *>(&s.bin[1 - SIDE][at + u][o]);
            float4 e = *reinterpret_cast<const float4 *>(&s.e[1 - SIDE][at + u][o]);
            int bins[4] = {b.x, b.y, b.z, b.w};
            float es[4] = {e.x, e.y, e.z, e.w};
#pragma unroll
            for (int l = 0; l < 4; l++)
#pragma unroll
                for (int r = 0; r < 2; r++)
                    if (bins[l] == mine[u][r]) {
                        sum[u][r][0] += v[r][l];
                        sum[u][r][1] = fmaf(v[r][l], v[r][l], sum[u][r][1]);
                        sum[u][r][2] = fmaf(v[r][l], es[l], sum[u][r][2]);
                    }
        }
    }
#pragma unroll
    for (int u = 0; u < 2; u++)
#pragma unroll
        for (int r = 0; r < 2; r++)
            if (mine[u][r] != SKIPPED)
                for (int m = 0; m < 3; m++) sums[m * cells + (at + u) * TILE + rows[r]] += (double)sum[u][r][m];
}

// local_waves takes the pair of tile blockIdx.x in wave wave+blockIdx.y. sums are two lanes
// of S, Q and R for each wave of the launch and start at zero.
extern "C" __global__ void __launch_bounds__(256, 4) local_waves(double *sums, const float *z, const float *e, const int *bin, int wide, int classes, int wave) {
    __shared__ Tiles t;
    __shared__ Staged s;
    __shared__ __align__(16) KernelTile k;
    int tiles = gridDim.x, v = wave + blockIdx.y, mine = blockIdx.x, other = (mine + v) % tiles;
    if (2 * v == tiles && mine >= v) return; // that pair has met already
    kernel_tile(k, t, z, mine, other, wide);
    size_t cells = (size_t)tiles * classes * TILE;
    int side = threadIdx.x / 128, staged = threadIdx.x % 128, warp = threadIdx.x / 32, at = warp % 4 * 2;
    for (int c = 0; c < classes; c += AT_ONCE) {
        __syncthreads();
        int4 b = {SKIPPED, SKIPPED, SKIPPED, SKIPPED};
        float4 r = {};
        if (c + staged / 16 < classes) {
            size_t from = ((size_t)(side == 0 ? mine : other) * classes + c) * (TILE / 4) + staged;
            b = reinterpret_cast<const int4 *>(bin)[from];
            r = reinterpret_cast<const float4 *>(e)[from];
        }
        reinterpret_cast<int4 *>(s.bin[side])[staged] = b;
        reinterpret_cast<float4 *>(s.e[side])[staged] = r;
        __syncthreads();
        if (c + at >= classes || (side == 1 && v == 0)) continue;
        double *lane = sums + (2 * blockIdx.y + side) * 3 * cells + ((size_t)(side == 0 ? mine : other) * classes + c) * TILE;
        if (side == 0)
            add_side<0>(lane, cells, s, k, at);
        else
            add_side<1>(lane, cells, s, k, at);
    }
}

// local_sum adds n sums over the lanes, in their order.
extern "C" __global__ void local_sum(double *out, const double *sums, int n, int lanes) {
    for (unsigned i = first(); i < n; i += stride()) {
        double sum = 0;
        for (int l = 0; l < lanes; l++) sum += sums[(size_t)l * n + i];
        out[i] = sum;
    }
}

// local_finish gives, N×C row by row, the residual (R + e)/(S + 1), K_ii being 1, and the
// effective sample size S²/Q; NaN where the bin was skipped. cells is the number of sums.
extern "C" __global__ void local_finish(double *residual, double *ess, const double *sums, const float *e, const int *bin, int n, int classes, int cells) {
    for (unsigned i = first(); i < cells; i += stride()) {
        int c = i / TILE % classes, row = i / TILE / classes * TILE + i % TILE;
        if (row >= n) continue;
        double s = sums[i], q = sums[(size_t)cells + i], r = sums[2 * (size_t)cells + i], nothing = 0.0;
        bool skipped = bin[i] == SKIPPED;
        size_t to = (size_t)row * classes + c;
        residual[to] = skipped ? nothing / nothing : (r + (double)e[i]) / (s + 1);
        ess[to] = skipped ? nothing / nothing : q > 0 ? s * s / q : 0;
    }
}
