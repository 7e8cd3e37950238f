//go:build amd64 && !linux && !noasm

package simd

// tilesGranted is false where no way is known to request tiles.
func tilesGranted() bool { return false }
