package cuda

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io/fs"
)

//go:generate go run ./gen

// kernelImage is kernels/kernels.cu as PTX, its first line naming the hash of all sources.
//
//go:embed kernels.ptx
var kernelImage []byte

// KernelsHash is the hash of kernel sources in a folder: SHA-256 over the name and text of
// each, in order of name.
func KernelsHash(folder fs.FS) (string, error) {
	names, err := fs.Glob(folder, "*.cu*")
	if err != nil {
		return "", fmt.Errorf("cuda: hash the kernels: %w", err)
	}
	h := sha256.New()
	for _, name := range names {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return "", fmt.Errorf("cuda: hash the kernels: %w", err)
		}
		fmt.Fprintf(h, "%s %d\n", name, len(text))
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
