// Package kernelsum has the rows of local metrics, and what is counted over them, as the CPU hands them to a device.
package kernelsum

// Input is N rows over which local metrics sum Gaussian kernel values.
type Input struct {
	Rows, Dim, Classes int       // N, d and C
	Z                  []float32 // N×d: coordinates in units of the bandwidth
	E                  []float32 // C×N: residuals of each class
	Bin                []int32   // C×N: bins of each class; −2 is none
}

// Tally is what their local residuals r are under each of T label vectors or replicates.
type Tally struct {
	Sum, Weight []int64   // T×C: Σ_i w_i |r_ic| in units of 2⁻⁴⁰, and Σ_i w_i
	Most        []float64 // T×C: max_i |r_ic|
	Norm        []float64 // T: max_i Σ_c |r_ic|
}
