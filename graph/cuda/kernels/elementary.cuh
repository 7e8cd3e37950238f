// softplus, the logistic function, ln Γ and ψ, by the polynomials of package simd
// (graph/simd/internal/minimax), which says where each holds and how well. __fdividef is a
// quotient to 2 ulp; the exact one takes a call. What a branch would compute twice, for the
// lanes of either, is computed before it.
#pragma once

#define ALPHA_FLOOR 1e-8f

// log1p_unit is log(1+t) = 2 artanh(t/(2+t)) for 0 ≤ t ≤ 1.
__device__ __forceinline__ float log1p_unit(float t) {
    float s = __fdividef(t, 2 + t), q = s * s;
    float p = fmaf(fmaf(fmaf(0.279875278f, q, 0.280075938f), q, 0.400210977f), q, 0.666664243f);
    return fmaf(s * q, p, 2 * s);
}

__device__ __forceinline__ float softplus(float x) { return fmaxf(x, 0.0f) + log1p_unit(expf(-fabsf(x))); }

__device__ __forceinline__ float sigmoid(float x) {
    float t = expf(-fabsf(x));
    return __fdividef(x >= 0 ? 1.0f : t, 1 + t);
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
    float whole = floorf(x), log = logf(x < 1 || x >= 3 ? x : fmaxf(x - 1, 1.0f)); // log 1 = 0 on [1, 2)
    if (x >= 3) {
        float v = __fdividef(1.0f, x), s = v * v;
        float tail = fmaf(fmaf(0.000697382959f, s, -0.00277282833f), s, 0.0833332688f);
        return (x - 0.5f) * (log - 1) + 0.41893853320467274f + v * tail;
    }
    float lg = lgamma_unit(x - whole);
    return whole == 0 ? lg - log : lg + log;
}

// digamma is ψ(x) = d ln Γ(x)/dx, x ≥ 0.
__device__ __forceinline__ float digamma(float x) {
    float whole = floorf(x), v = __fdividef(1.0f, whole == 2 ? x - 1 : x);
    if (x >= 3) {
        float s = v * v;
        float tail = fmaf(fmaf(0.0032680505f, s, -0.00829218514f), s, 0.083332628f);
        return logf(x) - v * fmaf(v, tail, 0.5f);
    }
    float psi = digamma_unit(x - whole);
    return whole == 0 ? psi - v : whole == 2 ? psi + v : psi;
}

// trigamma is ψ′(x), x > 0: by ψ′(x) = ψ′(x+1) + 1/x² up to 6, and from there on by its
// asymptotic series.
__device__ __forceinline__ float trigamma(float x) {
    float below = 0;
    for (; x < 6; x += 1) below += 1 / (x * x);
    float v = 1 / x, s = v * v;
    return below + v * fmaf(v, fmaf(v, fmaf(fmaf(0.0238095238f, s, -0.0333333333f), s, 0.166666667f), 0.5f), 1.0f);
}
