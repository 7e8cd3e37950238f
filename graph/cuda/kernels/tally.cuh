// What a block of 256 threads counts of the local residuals of one label vector or replicate.
#pragma once

// Tallied is Σ w|r| in units of 2⁻⁴⁰, whose order does not matter, Σ w, and the largest |r|.
struct Tallied {
    long long sum, weight;
    double most;
};

// tally adds a residual that counts w times.
__device__ __forceinline__ void tally(Tallied &t, double residual, long long w) {
    t.sum += w * llround(residual * 1099511627776.0);
    t.weight += w;
    t.most = fmax(t.most, residual);
}

// block_tally joins what the threads hold, in thread 0.
__device__ __forceinline__ Tallied block_tally(const Tallied &mine) {
    __shared__ Tallied part[256];
    part[threadIdx.x] = mine;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x >= half) continue;
        Tallied &to = part[threadIdx.x], &from = part[threadIdx.x + half];
        to.sum += from.sum, to.weight += from.weight, to.most = fmax(to.most, from.most);
    }
    return part[0];
}

// block_most is the largest of what the threads hold, in thread 0.
__device__ __forceinline__ double block_most(double v) {
    __shared__ double top[256];
    top[threadIdx.x] = v;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) top[threadIdx.x] = fmax(top[threadIdx.x], top[threadIdx.x + half]);
    }
    return top[0];
}
