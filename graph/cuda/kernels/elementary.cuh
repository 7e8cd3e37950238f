// softplus, the logistic function, ln Γ and ψ, by the polynomials of package simd
// (graph/simd/internal/minimax), which says where each holds and how well.
#pragma once

#define ALPHA_FLOOR 1e-8f

__device__ __forceinline__ float softplus(float x) { return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x))); }

__device__ __forceinline__ float sigmoid(float x) {
    float t = expf(-fabsf(x));
    return (x >= 0 ? 1.0f : t) / (1 + t);
}

// ln Γ(1+y) = y(y−1)·R(y−½) on [1, 2)
__device__ __forceinline__ float lgamma_unit(float y) {
    float t = y - 0.5f;
    float p = -0.00152644003f;
    p = fmaf(p, t, 0.00244835229f);
    p = fmaf(p, t, -0.00311588706f);
    p = fmaf(p, t, 0.00532519072f);
    p = fmaf(p, t, -0.00943649281f);
    p = fmaf(p, t, 0.016808223f);
    p = fmaf(p, t, -0.0313079916f);
    p = fmaf(p, t, 0.0629110485f);
    p = fmaf(p, t, -0.145959899f);
    p = fmaf(p, t, 0.483128965f);
    return -y * (1 - y) * p;
}

// ψ(1+y) = (1+y−x₀)·S(y−½) on [1, 2), x₀ the zero of ψ
__device__ __forceinline__ float digamma_unit(float y) {
    float t = y - 0.5f;
    float p = 0.0111187836f;
    p = fmaf(p, t, -0.0163840838f);
    p = fmaf(p, t, 0.0169803258f);
    p = fmaf(p, t, -0.0257810187f);
    p = fmaf(p, t, 0.0408793576f);
    p = fmaf(p, t, -0.0620570742f);
    p = fmaf(p, t, 0.0949820802f);
    p = fmaf(p, t, -0.148398787f);
    p = fmaf(p, t, 0.24054262f);
    p = fmaf(p, t, -0.423627496f);
    p = fmaf(p, t, 0.951055884f);
    return (y - 0.4616321325302124f - 1.24381499389e-8f) * p;
}

// log_gamma is ln Γ(x), x ≥ 0: from 3 on by Stirling's series, below by
// Γ(x+1) = xΓ(x) from [1, 2).
__device__ __forceinline__ float log_gamma(float x) {
    if (x >= 3) {
        float v = 1 / x, s = v * v;
        float tail = fmaf(fmaf(0.000697382959f, s, -0.00277282833f), s, 0.0833332688f);
        return (x - 0.5f) * (logf(x) - 1) + 0.41893853320467274f + v * tail;
    }
    float whole = floorf(x), lg = lgamma_unit(x - whole);
    if (whole == 0) return lg - logf(x);
    return whole == 2 ? lg + logf(x - 1) : lg;
}

// digamma is ψ(x) = d ln Γ(x)/dx, x ≥ 0.
__device__ __forceinline__ float digamma(float x) {
    if (x >= 3) {
        float v = 1 / x, s = v * v;
        float tail = fmaf(fmaf(0.0032680505f, s, -0.00829218514f), s, 0.083332628f);
        return logf(x) - v * fmaf(v, tail, 0.5f);
    }
    float whole = floorf(x), psi = digamma_unit(x - whole);
    if (whole == 0) return psi - 1 / x;
    return whole == 2 ? psi + 1 / (x - 1) : psi;
}

// trigamma is ψ′(x), x > 0: by ψ′(x) = ψ′(x+1) + 1/x² up to 6, and from there on by its
// asymptotic series.
__device__ __forceinline__ float trigamma(float x) {
    float below = 0;
    for (; x < 6; x += 1) below += 1 / (x * x);
    float v = 1 / x, s = v * v;
    return below + v * fmaf(v, fmaf(v, fmaf(fmaf(0.0238095238f, s, -0.0333333333f), s, 0.166666667f), 0.5f), 1.0f);
}
