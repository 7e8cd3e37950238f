// The quantizer: nearest codewords, and the sums and counts of its moving averages.
#include "common.cuh"
#include "tiles.cuh"

// slot_at is where slot number s begins in a table of features (·×w·d): the slots of
// row rows[s/w], or of row s/w where rows is null.
__device__ __forceinline__ size_t slot_at(const int *rows, int s, int w, int d) {
    int row = s / w;
    return ((size_t)(rows ? rows[row] : row) * w + s % w) * d;
}

// nearest is argmin_k ‖z − c_k‖² for each of count slots, the first index on ties, by differences:
// ½‖c_k‖² − z·c_k cancels where slots and codewords lie farther from 0 than from each other. Squares
// of differences below 1e-19 are 0. A block takes 64 slots against all codewords, 64 at a time.
extern "C" __global__ void __launch_bounds__(256) nearest(int *codes, const float *z, const int *rows, const float *words, int count, int w, int d, int k) {
    __shared__ Tiles t;
    int slot = blockIdx.x * TILE;
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    size_t at[4]; // where the slots begin that this thread fetches from
#pragma unroll
    for (int u = 0; u < 4; u++) {
        int s = slot + (threadIdx.x + 256 * u) / DEPTH;
        at[u] = s < count ? slot_at(rows, s, w, d) : 0;
    }
    float best[4];
    int code[4];
#pragma unroll
    for (int a = 0; a < 4; a++) best[a] = 3.402823466e38f, code[a] = 0;
    for (int word = 0; word < k; word += TILE) {
        float sum[4][4] = {};
        for (int l0 = 0; l0 < d; l0 += DEPTH) {
#pragma unroll
            for (int u = 0; u < 4; u++) {
                int i = threadIdx.x + 256 * u, r = i / DEPTH, l = l0 + i % DEPTH;
                t.x[i % DEPTH][r] = slot + r < count && l < d ? z[at[u] + l] : 0;
                t.y[i % DEPTH][r] = word + r < k && l < d ? words[(size_t)(word + r) * d + l] : 0;
            }
            __syncthreads();
            distance_tiles(sum, t, tx, ty, DEPTH);
            __syncthreads();
        }
#pragma unroll
        for (int b = 0; b < 4; b++) {
            int c = word + 4 * tx + b;
            if (c >= k) continue;
#pragma unroll
            for (int a = 0; a < 4; a++)
                if (sum[a][b] < best[a]) best[a] = sum[a][b], code[a] = c;
        }
    }
#pragma unroll
    for (int a = 0; a < 4; a++) {
        for (int o = 8; o > 0; o >>= 1) { // over the 16 threads of a slot
            float other = __shfl_xor_sync(EVERY_LANE, best[a], o);
            int index = __shfl_xor_sync(EVERY_LANE, code[a], o);
            if (other < best[a] || (other == best[a] && index < code[a])) best[a] = other, code[a] = index;
        }
        int s = slot + 4 * ty + a;
        if (tx == 0 && s < count) codes[s] = code[a];
    }
}

// scatter_parts sums, for codeword blockIdx.x and part blockIdx.y of the slots, the
// pieces of x that belong to the codeword, in the order of the slots: a (parts×K×d)
// array. Threads first list the part's slots of that code, then add them, 32 columns
// by 8 sharers. Where counts (parts×K) is not null, how many there were.
extern "C" __global__ void __launch_bounds__(256) scatter_parts(float *sums, int *counts, const int *codes, const float *x, const int *rows, int count, int w, int d, int k, int part) {
    __shared__ int list[256], found[8];
    int tid = threadIdx.x + COLUMNS * threadIdx.y;
    int word = blockIdx.x, column = blockIdx.z * COLUMNS + threadIdx.x;
    int end = min(count, (int)(blockIdx.y + 1) * part);
    float sum = 0;
    int slots = 0;
    for (int s0 = blockIdx.y * part; s0 < end; s0 += 256) {
        int s = s0 + tid;
        bool mine = s < end && codes[s] == word;
        unsigned votes = __ballot_sync(EVERY_LANE, mine);
        __syncthreads();
        if (tid % 32 == 0) found[tid / 32] = __popc(votes);
        __syncthreads();
        int before = 0, total = 0;
        for (int y = 0; y < 8; y++) {
            if (y < tid / 32) before += found[y];
            total += found[y];
        }
        if (mine) list[before + __popc(votes & ((1u << (tid % 32)) - 1))] = s;
        __syncthreads();
        slots += total;
        if (column < d)
            for (int l = threadIdx.y; l < total; l += SHARERS) sum += x[slot_at(rows, list[l], w, d) + column];
    }
    sum = column_sum(sum);
    if (threadIdx.y == 0 && column < d) sums[((size_t)blockIdx.y * k + word) * d + column] = sum;
    if (counts && tid == 0 && blockIdx.z == 0) counts[blockIdx.y * k + word] = slots;
}

// moving_averages is a step of the codebook's averages, from the sums and counts of each of
// some parts of the slots, n = K·d entries:
//
//   m_k ← γ m_k + (1−γ) Σ_p count_pk,  T_k ← γ T_k + (1−γ) Σ_p sum_pk,  c_k = T_k / (m_k + ε)
extern "C" __global__ void moving_averages(float *m, float *t, float *words, const float *old_m, const float *old_t, const int *counts, const float *sums,
                                           float keep, float add, float epsilon, int k, int d, int n, int parts) {
    for (unsigned i = first(); i < n; i += stride()) {
        int word = i / d, count = 0;
        float sum = sums[i];
        for (int p = 0; p < parts; p++) count += counts[p * k + word];
        for (int p = 1; p < parts; p++) sum += sums[(size_t)p * n + i];
        float weight = blended(keep, old_m[word], add, (float)count), total = blended(keep, old_t[i], add, sum);
        if (i % d == 0) m[word] = weight;
        t[i] = total;
        words[i] = total / (weight + epsilon);
    }
}

// count_codes counts codeword blockIdx.x among the codes.
extern "C" __global__ void __launch_bounds__(256) count_codes(float *counts, const int *codes, int count) {
    __shared__ int found[8];
    int n = 0;
    for (int s = threadIdx.x; s < count; s += 256) n += codes[s] == (int)blockIdx.x;
    for (int o = 16; o > 0; o >>= 1) n += __shfl_xor_sync(EVERY_LANE, n, o);
    if (threadIdx.x % 32 == 0) found[threadIdx.x / 32] = n;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int y = 1; y < 8; y++) n += found[y];
        counts[blockIdx.x] = (float)n;
    }
}

// normalize divides row k of the sums (K×d) by counts_k + ε.
extern "C" __global__ void normalize(float *words, const float *sums, const float *counts, float epsilon, int d, int n) {
    for (unsigned i = first(); i < n; i += stride()) words[i] = sums[i] / (counts[i / d] + epsilon);
}

// code_sum is s + m·t of n codes; t may be null: 1.
extern "C" __global__ void code_sum(int *out, const int *s, const int *t, int m, int n) {
    for (unsigned i = first(); i < n; i += stride()) out[i] = s[i] + m * (t ? t[i] : 1);
}

// compare_codes is 0, 1 or 2 where s is less than t, as large, or greater.
extern "C" __global__ void compare_codes(int *out, const int *s, const int *t, int n) {
    for (unsigned i = first(); i < n; i += stride()) out[i] = s[i] < t[i] ? 0 : 1 + (s[i] > t[i]);
}

// take copies the rows of a table that rows names: words of 4 bytes, of any type.
extern "C" __global__ void take(int *out, const int *table, const int *rows, int width, int n) {
    for (unsigned i = first(); i < n; i += stride()) out[i] = table[(size_t)rows[i / width] * width + i % width];
}

// mass is n_bk = Σ_i σ_i² Σ_j e_ij 1[s_j(b,i) = k], a block per row b of p codes, as many for each slot; shares may be null: 1.
extern "C" __global__ void __launch_bounds__(256) mass(float *out, const int *codes, const float *shares, const float *scale, int p, int each, int k) {
    __shared__ int code[256];
    __shared__ float weight[256];
    for (int word = threadIdx.x; word < (k + 255) / 256 * 256; word += 256) {
        float sum = 0;
        for (int i0 = 0; i0 < p; i0 += 256) {
            int i = i0 + threadIdx.x;
            size_t at = (size_t)blockIdx.x * p + i;
            __syncthreads();
            code[threadIdx.x] = i < p ? codes[at] : -1;
            weight[threadIdx.x] = i >= p ? 0 : shares ? shares[at] * scale[i / each] : scale[i / each];
            __syncthreads();
            for (int l = 0; l < min(256, p - i0); l++)
                if (code[l] == word) sum += weight[l];
        }
        if (word < k) out[(size_t)blockIdx.x * k + word] = sum;
    }
}

// slot_sum is h_i = Σ_b Σ_j e_ij G[b, s_j(b,i)], the transpose of mass by σ².
extern "C" __global__ void __launch_bounds__(256) slot_sum(float *out, const int *codes, const float *shares, const float *g, int b, int w, int each, int k) {
    int i = blockIdx.x * COLUMNS + threadIdx.x;
    float sum = 0;
    if (i < w)
        for (int row = threadIdx.y; row < b; row += SHARERS)
            for (int j = 0; j < each; j++) {
                size_t at = ((size_t)row * w + i) * each + j;
                float v = g[(size_t)row * k + codes[at]];
                sum += shares ? shares[at] * v : v;
            }
    sum = column_sum(sum);
    if (threadIdx.y == 0 && i < w) out[i] = sum;
}

// table_sum is y_b = Σ_i T[i·K + s(b,i)], a thread per entry of y (B×C).
extern "C" __global__ void table_sum(float *out, const float *table, const int *codes, int w, int k, int c, int n) {
    for (unsigned at = first(); at < n; at += stride()) {
        const int *code = codes + at / c * w;
        float sum = 0;
        for (int i = 0; i < w; i++) sum += table[((size_t)i * k + code[i]) * c + at % c];
        out[at] = sum;
    }
}

// table_scatter is its transpose: entry (i·K+k, c) is Σ_b x_bc 1[s(b,i) = k].
extern "C" __global__ void table_scatter(float *out, const int *codes, const float *x, int b, int w, int k, int c, int n) {
    for (unsigned at = first(); at < n; at += stride()) {
        int row = at / c, i = row / k, word = row % k;
        float sum = 0;
        for (int r = 0; r < b; r++)
            if (codes[(size_t)r * w + i] == word) sum += x[(size_t)r * c + at % c];
        out[at] = sum;
    }
}
