package experiments_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestAVX2HasSixteenRegisters: the kernels of AVX2 use registers 0 to 15. Those above belong to AVX-512, and a
// processor without it stops the program at the first of them; where tests run on one with it, nothing else would show
// that.
func TestAVX2HasSixteenRegisters(t *testing.T) {
	above := regexp.MustCompile(`\b[XY](1[6-9]|2\d|3[01])\b.*`)
	var files []string
	for _, folder := range []string{"../graph/simd", "metrics/internal/tile"} {
		found, err := filepath.Glob(filepath.Join(folder, "*avx2*.s"))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s has no kernels of AVX2 (%v)", folder, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if line := above.Find(text); line != nil {
			t.Errorf("%s uses %s; let its generator need fewer registers", file, line)
		}
	}
}
