// Convolutions of images X (N×C×H×W) with kernels W (O×C×k×l) to Y (N×O×H′×W′),
//
//   y_o(u, v) = Σ_c Σ_i Σ_j W_oc(i, j) x_c(s·u + i − pad, s·v + j − pad) ,
//
// as products of matrices that are never written out: each entry of the right one is
// read from the image where it is, 0 outside of it.
#include "common.cuh"
#include "tiles.cuh"

struct Geometry {
    int n, c, h, w, o, kh, kw, high, wide, stride, pad; // high×wide is H′×W′
};

// Place is a column of the right matrix, decomposed once for all depths.
struct Place {
    int image, u, v;
};

// Forward is Y as O×(N·H′·W′), the kernels as O×(C·k·l) times the patches.
struct Forward : Geometry {
    static const bool along = false;
    const float *x, *kernels;
};

__device__ __forceinline__ float left(const Forward &f, int o, int l) { return f.kernels[(size_t)o * f.c * f.kh * f.kw + l]; }

__device__ __forceinline__ Place place(const Forward &f, int column) {
    return {column / (f.high * f.wide), column / f.wide % f.high * f.stride - f.pad, column % f.wide * f.stride - f.pad};
}

__device__ __forceinline__ float right(const Forward &f, const Place &p, int l) {
    int c = l / (f.kh * f.kw), u = p.u + l / f.kw % f.kh, v = p.v + l % f.kw;
    return 0 <= u && u < f.h && 0 <= v && v < f.w ? f.x[(((size_t)p.image * f.c + c) * f.h + u) * f.w + v] : 0.0f;
}

__device__ __forceinline__ size_t target(const Forward &f, int o, int column) {
    int places = f.high * f.wide;
    return ((size_t)(column / places) * f.o + o) * places + column % places;
}

// Backward is ∂L/∂X as C×(N·H·W), from ∂L/∂Y, each pixel's depth running over (o, i, j).
struct Backward : Geometry {
    static const bool along = false;
    const float *dy, *kernels;
};

__device__ __forceinline__ float left(const Backward &f, int c, int l) {
    int area = f.kh * f.kw;
    return f.kernels[((size_t)(l / area) * f.c + c) * area + l % area];
}

__device__ __forceinline__ Place place(const Backward &f, int column) { return {column / (f.h * f.w), column / f.w % f.h + f.pad, column % f.w + f.pad}; }

__device__ __forceinline__ float right(const Backward &f, const Place &p, int l) {
    int o = l / (f.kh * f.kw), u = p.u - l / f.kw % f.kh, v = p.v - l % f.kw;
    bool met = 0 <= u && u % f.stride == 0 && u / f.stride < f.high && 0 <= v && v % f.stride == 0 && v / f.stride < f.wide;
    return met ? f.dy[(((size_t)p.image * f.o + o) * f.high + u / f.stride) * f.wide + v / f.stride] : 0.0f;
}

__device__ __forceinline__ size_t target(const Backward &f, int c, int column) {
    int places = f.h * f.w;
    return ((size_t)(column / places) * f.c + c) * places + column % places;
}

// Kernels is ∂L/∂W as O×(C·k·l), whose depth runs over all places of all images. A place's
// image is a channel here.
struct Kernels : Geometry {
    static const bool along = true;
    const float *x, *dy;
};

__device__ __forceinline__ float left(const Kernels &f, int o, int l) {
    int places = f.high * f.wide;
    return f.dy[((size_t)(l / places) * f.o + o) * places + l % places];
}

__device__ __forceinline__ Place place(const Kernels &f, int column) { return {column / (f.kh * f.kw), column / f.kw % f.kh - f.pad, column % f.kw - f.pad}; }

__device__ __forceinline__ float right(const Kernels &f, const Place &p, int l) {
    int n = l / (f.high * f.wide), u = l / f.wide % f.high * f.stride + p.u, v = l % f.wide * f.stride + p.v;
    return 0 <= u && u < f.h && 0 <= v && v < f.w ? f.x[(((size_t)n * f.c + p.image) * f.h + u) * f.w + v] : 0.0f;
}

__device__ __forceinline__ size_t target(const Kernels &f, int o, int column) { return (size_t)o * f.c * f.kh * f.kw + column; }

// multiply writes the block's 64×64 tile of the m×n product, of depths blockIdx.z·depth on;
// parts lie m·n apart.
template <class Product> __device__ __forceinline__ void multiply(float *z, const Product &f, int m, int n, int k, int depth) {
    __shared__ Tiles t;
    int row = blockIdx.y * TILE, column = blockIdx.x * TILE, tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    int begin = blockIdx.z * depth, end = min(k, begin + depth);
    float sum[4][4] = {};
    Place places[4];
#pragma unroll
    for (int u = 0; u < 4; u++) {
        int i = threadIdx.x + 256 * u;
        places[u] = place(f, column + (Product::along ? i / DEPTH : i % TILE));
    }
    for (int at = begin; at < end; at += DEPTH) {
#pragma unroll
        for (int u = 0; u < 4; u++) {
            int i = threadIdx.x + 256 * u, r = i / DEPTH, l = i % DEPTH;
            t.x[l][r] = row + r < m && at + l < end ? left(f, row + r, at + l) : 0.0f;
            int c = Product::along ? r : i % TILE, e = Product::along ? l : i / TILE;
            t.y[e][c] = column + c < n && at + e < end ? right(f, places[u], at + e) : 0.0f;
        }
        __syncthreads();
        multiply_tiles(sum, t, tx, ty);
        __syncthreads();
    }
    z += (size_t)blockIdx.z * m * n;
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            int r = row + 4 * ty + a, c = column + 4 * tx + b;
            if (r < m && c < n) z[target(f, r, c)] = sum[a][b];
        }
}

extern "C" __global__ void __launch_bounds__(256) convolve(float *y, const float *x, const float *kernels, int n, int c, int h, int w, int o, int kh, int kw, int high, int wide, int stride,
                                                           int pad) {
    Forward f;
    (Geometry &)f = {n, c, h, w, o, kh, kw, high, wide, stride, pad};
    f.x = x, f.kernels = kernels;
    multiply(y, f, o, n * high * wide, c * kh * kw, c * kh * kw);
}

extern "C" __global__ void __launch_bounds__(256) convolve_input(float *dx, const float *dy, const float *kernels, int n, int c, int h, int w, int o, int kh, int kw, int high, int wide,
                                                                 int stride, int pad) {
    Backward f;
    (Geometry &)f = {n, c, h, w, o, kh, kw, high, wide, stride, pad};
    f.dy = dy, f.kernels = kernels;
    multiply(dx, f, c, n * h * w, o * kh * kw, o * kh * kw);
}

extern "C" __global__ void __launch_bounds__(256) convolve_kernels(float *parts, const float *x, const float *dy, int n, int c, int h, int w, int o, int kh, int kw, int high, int wide,
                                                                   int stride, int pad, int depth) {
    Kernels f;
    (Geometry &)f = {n, c, h, w, o, kh, kw, high, wide, stride, pad};
    f.x = x, f.dy = dy;
    multiply(parts, f, o, c * kh * kw, n * high * wide, depth);
}
