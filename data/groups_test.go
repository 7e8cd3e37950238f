package data

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// writeTexts writes an npz file of integer arrays and arrays of text, as numpy would.
func writeTexts(t *testing.T, arrays map[string]any) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "g.npz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	for name, value := range arrays {
		w, err := z.Create(name + ".npy")
		if err != nil {
			t.Fatal(err)
		}
		var descr string
		var body []byte
		n := 0
		switch value := value.(type) {
		case []string: // <U6
			descr, n = "<U6", len(value)
			for _, s := range value {
				runes := []rune(s)
				for k := range 6 {
					var c rune
					if k < len(runes) {
						c = runes[k]
					}
					body = binary.LittleEndian.AppendUint32(body, uint32(c))
				}
			}
		case []int64:
			descr, n = "<i8", len(value)
			for _, v := range value {
				body = binary.LittleEndian.AppendUint64(body, uint64(v))
			}
		case []byte: // |S1
			descr, n, body = "|S1", len(value), value
		}
		header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }", descr, n)
		header += strings.Repeat(" ", 117-len(header)) + "\n"
		if _, err := w.Write(append(append([]byte("\x93NUMPY\x01\x00v\x00"), header...), body...)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func readGroups(path string, rows int) (Groups, error) {
	return within(path, func(a *archive) (Groups, error) { return a.groups("groups", rows) })
}

func TestGroups(t *testing.T) {
	for _, c := range []struct {
		arrays map[string]any
		groups []int
		names  []string
	}{
		{map[string]any{"groups": []int64{1, 0, 1}}, []int{1, 0, 1}, []string{"0", "1"}},
		{map[string]any{"groups": []int64{205, -1, 205}}, []int{1, 0, 1}, []string{"-1", "205"}},
		{map[string]any{"groups": []int64{1, 0, 1}, "group_names": []string{"men", "wömen"}}, []int{1, 0, 1}, []string{"men", "wömen"}},
		{map[string]any{"groups": []string{"b", "a", "b"}}, []int{1, 0, 1}, []string{"a", "b"}},
		{map[string]any{"groups": []byte("bab")}, []int{1, 0, 1}, []string{"a", "b"}},
		{map[string]any{"other": []int64{1}}, nil, nil},
	} {
		g, err := readGroups(writeTexts(t, c.arrays), 3)
		if err != nil || !slices.Equal(g.Of, c.groups) || !slices.Equal(g.Names, c.names) {
			t.Errorf("%v: %v, %v", c.arrays, g, err)
		}
	}
	for want, arrays := range map[string]map[string]any{
		"has 2 rows and there are 3":               {"groups": []int64{0, 1}},
		"holds -1 at row 1":                        {"groups": []int64{0, -1, 0}, "group_names": []string{"a", "b"}},
		"holds 2 at row 2; groups must lie in 0…1": {"groups": []int64{0, 1, 2}, "group_names": []string{"a", "b"}},
		"a text in each place":                     {"groups": []int64{0, 1, 1}, "group_names": []int64{4, 5}},
	} {
		_, err := readGroups(writeTexts(t, arrays), 3)
		var input *InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	// text where numbers belong is refused as before
	if _, err := ReadMatrix(writeTexts(t, map[string]any{"x": []string{"a"}}), "x"); err == nil || !strings.Contains(err.Error(), "dtype") {
		t.Errorf("a matrix of text: %v", err)
	}
}

// TestGroupsOfOtherTypes: days, moments, decimals and truth values of an npz file are groups by their names.
func TestGroupsOfOtherTypes(t *testing.T) {
	whole := func(values ...int64) func(io.Writer) error {
		return func(w io.Writer) error { return binary.Write(w, binary.LittleEndian, values) }
	}
	for want, groups := range map[string]any{
		"[1969-12-31 2025-03-01]":                     Written{Type: "<M8[D]", Shape: []int{2}, Write: whole(20148, -1)},
		"[1970-01-01T00:00:01.5 1970-01-02]":          Written{Type: "<M8[ms]", Shape: []int{2}, Write: whole(1500, 86400000)},
		"[1969-12-31T23:59:59.5 1970-01-01T00:00:01]": Written{Type: "<M8[ns]", Shape: []int{2}, Write: whole(-5e8, 1e9)},
		"[0.5 1.25]":            []float64{1.25, 0.5},
		"[-3 7]":                []float64{7, -3},
		"[false true]":          Written{Type: "|b1", Shape: []int{2}, Write: func(w io.Writer) error { _, err := w.Write([]byte{1, 0}); return err }},
		"has no value at row 1": Written{Type: "<M8[D]", Shape: []int{2}, Write: whole(0, math.MinInt64)},
	} {
		path := filepath.Join(t.TempDir(), "g.npz")
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(NPZ(Array{"probs", mat.NewDense(2, 2, []float64{.5, .5, .2, .8})}, Array{"groups", groups})(file), file.Close()); err != nil {
			t.Fatal(err)
		}
		p, err := ReadPredictions(path)
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(p.Groups.Names)
		}
		if !strings.Contains(got, want) {
			t.Errorf("groups %s, not %s", got, want)
		}
	}
}
