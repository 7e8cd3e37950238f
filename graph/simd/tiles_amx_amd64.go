//go:build amd64 && !noasm

package simd

// screenAMX runs a [screenJob]. It configures the tiles and releases them, which takes longer than the
// scores of some slots. No Go code runs between, and assembly is not preempted; a signal may come at any time, and
// Linux then saves the 8 KiB of tiles on Go's signal stack, which has 32.
//
//go:noescape
func screenAMX(j *screenJob)
