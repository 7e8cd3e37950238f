// Slots that share themselves out among several codewords: places of a table, p in each row, with their shares.
#include "common.cuh"

// squared is ‖x − c‖² of d numbers.
__device__ __forceinline__ float squared(const float *x, const float *c, int d) {
    float sum = 0;
    for (int j = 0; j < d; j++) sum = fmaf(x[j] - c[j], x[j] - c[j], sum);
    return sum;
}

// nearby are the m nearest of k codewords (k×d) of n slots of z, the nearest first, and of equal ones the first: a thread a slot.
// best (n×m) is their squared distances.
extern "C" __global__ void nearby(int *codes, float *best, const float *z, const float *words, int m, int d, int k, int n) {
    for (unsigned at = first(); at < n; at += stride()) {
        int *code = codes + (size_t)at * m, found = 0;
        float *least = best + (size_t)at * m;
        for (int word = 0; word < k; word++) {
            float distance = squared(z + (size_t)at * d, words + (size_t)word * d, d);
            if (found == m && !(distance < least[m - 1])) continue;
            int j = found < m ? found++ : m - 1;
            for (; j > 0 && distance < least[j - 1]; j--) {
                least[j] = least[j - 1];
                code[j] = code[j - 1];
            }
            least[j] = distance;
            code[j] = word;
        }
    }
}

// near_shares are exp(−(δ_j − δ_0)/τ), δ the squared distances of the m codewords of n slots, divided by their sum, of which those
// below the share lowest are left out: a thread a slot.
extern "C" __global__ void near_shares(float *shares, const float *z, const float *words, const int *codes, const float *tau, float lowest, int m, int d, int n) {
    for (unsigned at = first(); at < n; at += stride()) {
        const float *x = z + (size_t)at * d;
        float *share = shares + (size_t)at * m, nearest = 0, total = 0, kept = 0;
        for (int j = 0; j < m; j++) {
            float distance = squared(x, words + (size_t)codes[(size_t)at * m + j] * d, d);
            if (j == 0) nearest = distance;
            share[j] = j == 0 ? 1 : *tau > 0 ? expf(-floored(distance - nearest, 0.0f) / *tau) : 0;
            total += share[j];
        }
        for (int j = 0; j < m; j++) {
            if (j > 0 && share[j] < lowest * total) share[j] = 0;
            kept += share[j];
        }
        for (int j = 0; j < m; j++) share[j] /= kept;
    }
}

// share_sum is y_b = Σ_j e_bj T[place_bj], a thread per entry of y, n of c columns.
extern "C" __global__ void share_sum(float *out, const float *table, const int *places, const float *shares, int p, int c, int n) {
    for (unsigned at = first(); at < n; at += stride()) {
        size_t row = (size_t)(at / c) * p;
        unsigned column = at % c;
        float sum = 0;
        for (int j = 0; j < p; j++) sum = fmaf(shares[row + j], table[(size_t)places[row + j] * c + column], sum);
        out[at] = sum;
    }
}

// Places of a slot that a block of share_scatter keeps, by COLUMNS of x.
#define PLACES 64

// share_scatter is the transpose, of each part of the b rows: sums is parts×R×C, sums[r, c] = Σ_b Σ_j e_bj x_bc 1[place_bj = r].
// A warp a block, of slot blockIdx.x, part blockIdx.y, and the tile blockIdx.z of the slot's places and the columns; a lane keeps
// a column, and adds in the order of the rows.
extern "C" __global__ void __launch_bounds__(32) share_scatter(float *sums, const int *places, const float *shares, const float *x, int b, int w, int p, int r, int c, int part) {
    __shared__ float tile[PLACES][COLUMNS];
    int each = p / w, words = r / w, tiles = (words + PLACES - 1) / PLACES;
    int skipped = blockIdx.z % tiles * PLACES, column = blockIdx.z / tiles * COLUMNS + threadIdx.x;
    int from = blockIdx.x * words + skipped, count = min(PLACES, words - skipped);
    for (int i = 0; i < count; i++) tile[i][threadIdx.x] = 0;
    int end = min(b, (int)(blockIdx.y + 1) * part);
    for (int row = blockIdx.y * part; row < end; row++) {
        float v = column < c ? x[(size_t)row * c + column] : 0;
        size_t slot = (size_t)row * p + blockIdx.x * each;
        for (int j = 0; j < each; j++) {
            int at = places[slot + j] - from;
            if (at >= 0 && at < count) tile[at][threadIdx.x] = fmaf(shares[slot + j], v, tile[at][threadIdx.x]);
        }
    }
    if (column < c)
        for (int i = 0; i < count; i++) sums[((size_t)blockIdx.y * r + from + i) * c + column] = tile[i][threadIdx.x];
}
