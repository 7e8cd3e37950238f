package cli

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestNamesThatAreNoUTF8: two names are two folders, and commands name them by their bytes.
func TestNamesThatAreNoUTF8(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("file systems of", runtime.GOOS, "take names of UTF-8 alone")
	}
	dir := t.TempDir()
	in := filepath.Join(dir, "f\xe9.csv")
	text := "logit_0,logit_1,label,set\n" + strings.Repeat("1,0,0,cal\n0.5,1,1,cal\n2,0,1,cal\n2.5,1,0,test\n", 10)
	if err := os.WriteFile(in, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{"run\xe8", "run\xe9"} {
		code, _, stderr := calibra(t, "fit", "--in", in, "--method", "ts", "--out", filepath.Join(dir, out))
		if code != 0 {
			t.Fatalf("fit exits %d: %s", code, stderr)
		}
	}
	found, err := os.ReadDir(dir)
	if err != nil || len(found) != 3 || found[1].Name() != "run\xe8" || found[2].Name() != "run\xe9" {
		t.Errorf("%q, %v", found, err)
	}
	if got := quoted("run\xe9's", "a b", "c"); got != `$'run\xe9\x27s' 'a b' c` {
		t.Errorf("a shell would take %s", got)
	}
}
