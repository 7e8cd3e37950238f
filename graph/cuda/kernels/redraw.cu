// The local residuals under redrawn labels: e_jc changes by 1[y_j = c] − 1[y'_j = c], so R_ic
// by the difference of
//
//   Y_ic = Σ_j K_ij 1[y_j = c] ,  j ≠ i, bin_c(j) = bin_c(i),
//
// of the two label vectors. A row is in one class per vector, so a pair costs one addition,
// whatever C.
#include "kernel_tile.cuh"
#include "tally.cuh"

#define MOST_DRAWN 16     // label vectors of a block
#define HELD (90 * TILE)  // sums and bins that a block holds by itself
#define NOWHERE (SKIPPED - 1) // the bin of a row that adds to no sum

// Labelled is where the class of a row under a vector has its column in a tile, and the row's
// bin there.
struct Labelled {
    int at, bin;
};

union Workspace {
    Tiles t;
    Labelled drawn[MOST_DRAWN][TILE];
};

// add_drawn adds the 64 rows of a tile, whose kernel values lie TILE + 4 apart, to a row's sums
// of each class; bin are the row's bins there.
__device__ __forceinline__ void add_drawn(float *sums, const Labelled drawn[TILE], const float *k, const int *bin) {
    for (int o = 0; o < TILE; o += 4) {
        Labelled d[4];
        bool met[4];
#pragma unroll
        for (int l = 0; l < 4; l++) d[l] = drawn[o + l];
#pragma unroll
        for (int l = 0; l < 4; l++) met[l] = bin[d[l].at] == d[l].bin;
#pragma unroll
        for (int l = 0; l < 4; l++) sums[d[l].at] += met[l] ? k[(o + l) * (TILE + 4)] : 0;
    }
}

// redraw gives the sums of tile blockIdx.x under vectors label vectors from the block's first
// on. Each thread has sums of its own, of one row under every fourth vector, and adds to them
// in the order of j. They lie at sums, those of a vector apart from the next; mine are the
// tile's bins.
__device__ __forceinline__ void redraw(float *sums, size_t apart, const int *mine, const float *z, const int *labels, const int *bin, int n, int wide, int classes, int from, int vectors) {
    __shared__ Workspace w;
    __shared__ __align__(16) KernelTile k;
    int r = threadIdx.x % TILE, group = threadIdx.x / TILE;
    for (int v = group; v < vectors; v += 4)
        for (int c = 0; c < classes; c++) sums[v * apart + c * TILE + r] = 0;
    for (int other = 0; other < (int)gridDim.x; other++) {
        kernel_tile(k, w.t, z, other, blockIdx.x, wide);
        __syncthreads();
        for (int i = threadIdx.x; i < vectors * TILE; i += 256) {
            int j = other * TILE + i % TILE;
            Labelled d = {0, NOWHERE};
            if (j < n) {
                int c = labels[(size_t)(from + i / TILE) * n + j], b = bin[in_tiles(j, c, classes)];
                d.at = c * TILE;
                if (b != SKIPPED) d.bin = b;
            }
            w.drawn[i / TILE][i % TILE] = d;
        }
        __syncthreads();
        for (int v = group; v < vectors; v += 4) add_drawn(sums + v * apart + r, w.drawn[v], &k[0][r], mine + r);
    }
}

// redraw_sums gives Y (count×C×N, in tiles) of count label vectors (count×N), vectors of them
// to a block, whose vectors·C sums and C bins of a row its shared memory holds.
extern "C" __global__ void __launch_bounds__(256) redraw_sums(float *y, const float *z, const int *labels, const int *bin, int n, int wide, int classes, int count, int vectors) {
    __shared__ float held[HELD];
    int from = blockIdx.y * vectors, here = min(vectors, count - from);
    int *mine = reinterpret_cast<int *>(held + vectors * classes * TILE);
    for (int i = threadIdx.x; i < classes * TILE; i += 256) mine[i] = bin[in_tiles(blockIdx.x * TILE, 0, classes) + i];
    redraw(held, classes * TILE, mine, z, labels, bin, n, wide, classes, from, here);
    __syncthreads();
    for (int i = threadIdx.x; i < here * classes * TILE; i += 256) {
        int v = i / (classes * TILE), at = i % (classes * TILE);
        y[((size_t)(from + v) * gridDim.x + blockIdx.x) * classes * TILE + at] = held[i];
    }
}

// redraw_sums_wide has them in the device's memory, for any number of classes.
extern "C" __global__ void __launch_bounds__(256) redraw_sums_wide(float *y, const float *z, const int *labels, const int *bin, int n, int wide, int classes, int count, int vectors) {
    size_t apart = (size_t)gridDim.x * classes * TILE, tile = in_tiles(blockIdx.x * TILE, 0, classes);
    int from = blockIdx.y * vectors;
    redraw(y + from * apart + tile, apart, bin + tile, z, labels, bin, n, wide, classes, from, min(vectors, count - from));
}

// redrawn_residual is |R_ic + Y_ic(observed) − Y_ic(redrawn) + e_ic|/(S_ic + 1) with e_ic of
// the redrawn labels, or −1 where the row is in no bin of the class.
__device__ __forceinline__ double redrawn_residual(const double *sums, const float *observed, const float *y, const float *e, const int *bin, const int *label, const int *redrawn,
                                                   int c, int row, int n, int classes) {
    size_t cells = ((size_t)n + TILE - 1) / TILE * TILE * classes, at = in_tiles(row, c, classes);
    if (bin[at] == SKIPPED) return -1;
    double own = (double)e[at] + (label[row] == c) - (redrawn[row] == c);
    return fabs(sums[2 * cells + at] + (double)observed[at] - (double)y[at] + own) / (sums[at] + 1);
}

// redraw_tally counts the residuals of vector blockIdx.x and class blockIdx.y.
extern "C" __global__ void __launch_bounds__(256) redraw_tally(long long *sum, long long *weight, double *most, const double *sums, const float *observed, const float *y, const float *e,
                                                               const int *bin, const int *label, const int *redrawn, int n, int classes) {
    int v = blockIdx.x, c = blockIdx.y;
    size_t cells = ((size_t)n + TILE - 1) / TILE * TILE * classes;
    Tallied mine = {};
    for (int row = threadIdx.x; row < n; row += 256) {
        double x = redrawn_residual(sums, observed, y + v * cells, e, bin, label, redrawn + (size_t)v * n, c, row, n, classes);
        if (x >= 0) tally(mine, x, 1);
    }
    Tallied all = block_tally(mine);
    if (threadIdx.x == 0) {
        int at = v * classes + c;
        sum[at] = all.sum, weight[at] = all.weight, most[at] = all.most;
    }
}

// redraw_norm gives, for vector blockIdx.x, the largest Σ_c of a row's residuals.
extern "C" __global__ void __launch_bounds__(256) redraw_norm(double *norm, const double *sums, const float *observed, const float *y, const float *e, const int *bin, const int *label,
                                                              const int *redrawn, int n, int classes) {
    int v = blockIdx.x;
    size_t cells = ((size_t)n + TILE - 1) / TILE * TILE * classes;
    double largest = 0;
    for (int row = threadIdx.x; row < n; row += 256) {
        double total = 0;
        for (int c = 0; c < classes; c++)
            total += fmax(0.0, redrawn_residual(sums, observed, y + v * cells, e, bin, label, redrawn + (size_t)v * n, c, row, n, classes));
        largest = fmax(largest, total);
    }
    largest = block_most(largest);
    if (threadIdx.x == 0) norm[v] = largest;
}
