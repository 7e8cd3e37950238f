package data

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// reference is a set of columns as the reference writers were given it, and referenceFile a file
// of it (testdata/parity/write.py).
type reference struct {
	Features, Logits [][]float64
	Labels           []int
	Names, Sets      []string
}

type referenceFile struct {
	File    string
	Base    int
	Text    bool   // the labels are names
	Refused string // what the refusal says
}

func jsonLines[T any](t *testing.T, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []T
	for d := json.NewDecoder(bufio.NewReader(f)); d.More(); {
		var v T
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// TestReferenceWriters reads what pyarrow and numpy write over types, codecs, encodings, layouts of
// pages and nullability: the numbers are the writer's, to the bit, or the file is refused by
// name. Damaged copies of the files are then read where memory is limited.
func TestReferenceWriters(t *testing.T) {
	python := os.Getenv("CALIBRA_PYTHON")
	if python == "" {
		t.Skip("the reference writers are Python's: set CALIBRA_PYTHON to one with pyarrow and numpy")
	}
	if out, err := exec.Command(python, "-c", "import pyarrow, numpy").CombinedOutput(); err != nil {
		t.Skipf("%s has no pyarrow and numpy (pip install pyarrow numpy): %s", python, bytes.TrimSpace(out))
	}
	dir := t.TempDir()
	if out, err := exec.Command(python, "testdata/parity/write.py", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	bases := jsonLines[reference](t, filepath.Join(dir, "bases.jsonl"))
	files := jsonLines[referenceFile](t, filepath.Join(dir, "files.jsonl"))
	for _, width := range []int{1, 3, 7, 45, 65} {
		for _, rows := range []int{5, 900, 6000} {
			g, err := readGroups(filepath.Join(dir, fmt.Sprintf("groups-%d-%d.npz", width, rows)), rows)
			if err != nil || len(g.Names) != min(7, rows) || g.Of[rows-1] != (rows-1)%7 || len(g.Names[0]) != width {
				t.Errorf("%d groups of %d characters: %d names, %v", rows, width, len(g.Names), err)
			}
		}
	}
	refused := 0
	for _, f := range files {
		var names Names
		if f.Text { // which no column has, and random scores do not tell
			names.Classes = []string{"ant", "bee", "wäsp"}
		}
		s, err := OpenContext(t.Context(), filepath.Join(dir, f.File), names)
		switch {
		case f.Refused != "":
			refused++
			if err == nil || !isInput(err) || !strings.Contains(err.Error(), f.Refused) {
				t.Errorf("%s: %v does not say %q", f.File, err, f.Refused)
			}
		case err != nil:
			t.Error(err)
		default:
			if err := bases[f.Base].differs(s, f.Text); err != nil {
				t.Errorf("%s: %v", f.File, err)
			}
		}
	}
	if t.Logf("%d files, %d of them refused", len(files), refused); len(files) < 2000 {
		t.Errorf("%d files are too few", len(files))
	}
	readDamaged(t, dir)
}

// differs says where a source is not the columns.
func (r *reference) differs(s *Source, text bool) error {
	for name, set := range map[string]*Set{"cal": s.Cal, "val": s.Val, "test": s.Test} {
		var rows []int
		for i, part := range r.Sets {
			if part == name {
				rows = append(rows, i)
			}
		}
		if set == nil || set.Len() != len(rows) {
			return fmt.Errorf("%s has not %d rows", name, len(rows))
		}
		if text && !slices.Equal(set.Names.Classes, r.Names) {
			return fmt.Errorf("the classes are %q", set.Names.Classes)
		}
		for k, i := range rows {
			if set.Labels[k] != r.Labels[i] {
				return fmt.Errorf("%s label %d is %d and was %d", name, k, set.Labels[k], r.Labels[i])
			}
			for what, pair := range map[string]struct {
				have mat.Matrix
				want []float64
			}{"features": {set.Features, r.Features[i]}, "logits": {set.Logits, r.Logits[i]}} {
				if have := mat.Row(nil, k, pair.have); !slices.Equal(have, pair.want) {
					return fmt.Errorf("%s %s of row %d are %v and were %v", name, what, k, have, pair.want)
				}
			}
		}
	}
	return nil
}

// readDamaged reads damaged copies of the files of dir in a process of 3 GiB, of which Go takes
// over a GiB in addresses alone.
func readDamaged(t *testing.T, dir string) {
	if runtime.GOOS != "linux" {
		t.Log("memory is limited by ulimit, which Linux has")
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `ulimit -v 3145728; exec "$0" -test.run '^TestDamagedFiles$' -test.v -test.timeout 10m`, self)
	cmd.Env = append(os.Environ(), "CALIBRA_DAMAGED="+dir, "GOMEMLIMIT=1GiB", "GOGC=400")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %.4000s", err, out)
	}
	t.Logf("%s", bytes.TrimSpace(out))
}

// TestDamagedFiles is the other half of TestReferenceWriters: every damaged copy is read as some
// numbers or refused by an input error, without a panic and in the memory there is.
func TestDamagedFiles(t *testing.T) {
	dir := os.Getenv("CALIBRA_DAMAGED")
	if dir == "" {
		t.Skip("TestReferenceWriters runs it")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	copies, read := 0, 0
	for _, f := range jsonLines[referenceFile](t, filepath.Join(dir, "files.jsonl")) {
		whole, err := os.ReadFile(filepath.Join(dir, f.File))
		if err != nil {
			t.Fatal(err)
		}
		for range 6 {
			b := damage(whole, rng)
			copies++
			a, err := openTable(f.File, bytes.NewReader(b), int64(len(b)))
			if a == nil && err == nil {
				a, err = newArchive(f.File, bytes.NewReader(b), int64(len(b)))
			}
			if err == nil {
				_, err = readSource(a, Names{})
			}
			if err == nil {
				read++
			} else if !isInput(err) {
				t.Errorf("%s: %v is no input error", f.File, err)
			}
		}
	}
	t.Logf("%d damaged copies, %d of them read", copies, read)
}

// damage is a copy with some bytes changed, at its ends more often than between them, or cut off.
func damage(whole []byte, rng *rand.Rand) []byte {
	b := bytes.Clone(whole)
	if rng.IntN(10) == 0 {
		return b[:rng.IntN(len(b))]
	}
	for range 1 + rng.IntN(3) {
		at := rng.IntN(len(b))
		if rng.IntN(2) == 0 { // where a footer or a directory is
			at = len(b) - 1 - rng.IntN(min(len(b), 1500))
		}
		switch rng.IntN(3) {
		case 0:
			b[at] ^= 1 << rng.IntN(8)
		case 1:
			b[at] = 0xff
		default:
			b[at] = byte(rng.Uint32())
		}
	}
	return b
}
