// What a graph draws: each draw is a hash of a seed, the step number t in device memory,
// and a place, by the same integers as on the CPU, so both draw the same.
#include "common.cuh"

typedef unsigned long long word;

// mix is the finalizer of SplitMix64 (Steele, Lea and Flood 2014) after one step of its
// Weyl sequence.
__device__ __forceinline__ word mix(word x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

__device__ __forceinline__ word key_of(word seed, const float *t) { return mix(seed + mix((word)*t)); }

// dropout sets element i to 0 where the upper 53 bits of its draw are below the threshold,
// and multiplies the others by keep.
extern "C" __global__ void dropout(float *out, const float *x, const float *t, word seed, word threshold, float keep, int n) {
    word key = key_of(seed, t);
    for (unsigned i = first(); i < n; i += stride()) out[i] = mix(key + (word)i) >> 11 < threshold ? 0.0f : keep * x[i];
}

// augment shifts image i by up to pad pixels along both axes and mirrors it where the
// upper 53 bits of its second draw are below mirror; n = B·C·H·W.
extern "C" __global__ void augment(float *out, const float *x, const float *t, word seed, word mirror, int channels, int h, int w, int pad, int n) {
    word key = key_of(seed, t), shifts = 2 * pad + 1;
    for (unsigned i = first(); i < n; i += stride()) {
        int v = i % w, u = i / w % h;
        word draw = mix(key + (word)(i / (channels * h * w)));
        int down = (int)(draw % shifts) - pad, right = (int)(draw / shifts % shifts) - pad;
        if (mix(draw) >> 11 < mirror) v = w - 1 - v;
        u += down;
        v += right;
        out[i] = 0 <= u && u < h && 0 <= v && v < w ? x[i / (h * w) * (h * w) + u * w + v] : 0.0f;
    }
}

// lower_bound is how many of n ascending values are below v.
__device__ __forceinline__ int lower_bound(const int *x, int n, int v) {
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (x[mid] < v)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

// background draws, for each class, distinct rows of it for its places among n
// (Floyd's algorithm, Bentley and Floyd 1987), a warp a class. Lane l reads and writes
// draws l, l+32, …, so none waits for another's memory.
extern "C" __global__ void background(int *rows, const int *sorted, const int *begins, const int *places, const float *t, word seed, int n, int classes) {
    int c = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (c >= classes) return;
    int lo = lower_bound(places, n, c), count = lower_bound(places, n, c + 1) - lo, size = begins[c + 1] - begins[c];
    word key = key_of(seed, t) + (word)lo;
    const int *from = sorted + begins[c];
    for (int i = 0; i < count; i++) {
        int last = size - count + i, pick = from[mix(key + (word)i) % (word)(last + 1)];
        bool taken = false;
        for (int l = lane; l < i; l += 32) taken = taken || rows[lo + l] == pick;
        if (__ballot_sync(EVERY_LANE, taken)) pick = from[last];
        if (i % 32 == lane) rows[lo + i] = pick;
    }
}
