// The local residuals of bootstrap replicates that draw groups of rows,
//
//   r_ic = |Σ_j w_j K_ij e_jc| / Σ_j w_j K_ij ,   i of weight w_i > 0,
//
// w_j being how often the replicate drew j's group: each group is summed once, and the
// replicates are products of the draws with the groups' sums. K_ii is 1.
// z, e and bin lie in tiles of d or C columns.
#include "kernel_tile.cuh"
#include "tally.cuh"

// group_sums adds, for each row i of tile from+blockIdx.x, K_ij and K_ij e_jc over the
// rows j ≠ i of each group in the same bin of class c. s and r are tiles×C×G×64 and start
// at zero; each thread adds to its own row's, in the order of j.
extern "C" __global__ void __launch_bounds__(256) group_sums(float *s, float *r, const float *z, const float *e, const int *bin, const int *group, int from, int n, int wide, int classes, int groups) {
    __shared__ Tiles t;
    __shared__ __align__(16) KernelTile k;
    int mine = from + blockIdx.x, lane = threadIdx.x % TILE, row = mine * TILE + lane;
    for (int other = 0; other * TILE < n; other++) {
        kernel_tile(k, t, z, other, mine, wide);
        __syncthreads();
        if (row >= n) continue;
        for (int c = threadIdx.x / TILE; c < classes; c += 256 / TILE) {
            const int *bins = bin + in_tiles(other * TILE, c, classes);
            const float *residuals = e + in_tiles(other * TILE, c, classes);
            int b = bin[in_tiles(row, c, classes)], g = group[other * TILE];
            if (b == SKIPPED) continue;
            size_t at = ((size_t)blockIdx.x * classes + c) * groups * TILE + lane;
            float sum = 0, weighted = 0;
            for (int o = 0; o < min(TILE, n - other * TILE); o++) {
                int j = other * TILE + o;
                if (group[j] != g) {
                    s[at + (size_t)g * TILE] += sum;
                    r[at + (size_t)g * TILE] += weighted;
                    sum = 0, weighted = 0, g = group[j];
                }
                if (bins[o] == b) {
                    sum += k[o][lane];
                    weighted = fmaf(k[o][lane], residuals[o], weighted);
                }
            }
            s[at + (size_t)g * TILE] += sum;
            r[at + (size_t)g * TILE] += weighted;
        }
    }
}

// resampled_residual is that of row `row` in tile tile of those at hand under replicate b,
// whose sums sb and rb are tiles×C×B×64, or −1 where the row is in no bin or not drawn.
__device__ __forceinline__ double resampled_residual(const float *sb, const float *rb, const float *e, const int *bin, float w, int b, int c, int tile, int row, int classes, int replicates) {
    size_t cell = in_tiles(row, c, classes), at = (((size_t)tile * classes + c) * replicates + b) * TILE + row % TILE;
    if (w == 0 || bin[cell] == SKIPPED) return -1;
    return fabs((double)rb[at] + (double)w * (double)e[cell]) / ((double)sb[at] + (double)w);
}

// resample_tally adds, for replicate blockIdx.x and class blockIdx.y, the residuals of the
// tiles at hand, each as often as its row was drawn.
extern "C" __global__ void __launch_bounds__(256) resample_tally(long long *sum, long long *weight, double *most, const float *sb, const float *rb, const float *e, const int *bin,
                                                                 const int *group, const float *draws, int from, int tiles, int n, int classes, int replicates, int groups) {
    int b = blockIdx.x, c = blockIdx.y;
    Tallied mine = {};
    for (int row = from * TILE + threadIdx.x; row < min(n, (from + tiles) * TILE); row += 256) {
        float w = draws[(size_t)b * groups + group[row]];
        double x = resampled_residual(sb, rb, e, bin, w, b, c, row / TILE - from, row, classes, replicates);
        if (x >= 0) tally(mine, x, (long long)w);
    }
    Tallied all = block_tally(mine);
    if (threadIdx.x == 0) {
        int at = b * classes + c;
        sum[at] += all.sum, weight[at] += all.weight, most[at] = fmax(most[at], all.most);
    }
}

// resample_norm keeps, for replicate blockIdx.x, the largest Σ_c of a row's residuals.
extern "C" __global__ void __launch_bounds__(256) resample_norm(double *norm, const float *sb, const float *rb, const float *e, const int *bin, const int *group, const float *draws,
                                                                int from, int tiles, int n, int classes, int replicates, int groups) {
    int b = blockIdx.x;
    double largest = 0;
    for (int row = from * TILE + threadIdx.x; row < min(n, (from + tiles) * TILE); row += 256) {
        float w = draws[(size_t)b * groups + group[row]];
        double total = 0;
        for (int c = 0; c < classes; c++) total += fmax(0.0, resampled_residual(sb, rb, e, bin, w, b, c, row / TILE - from, row, classes, replicates));
        largest = fmax(largest, total);
    }
    largest = block_most(largest);
    if (threadIdx.x == 0) norm[b] = fmax(norm[b], largest);
}
