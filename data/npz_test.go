package data

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// member is one raw array for a test file.
type member struct {
	name string
	npy  []byte
}

// rawNPY is an npy array of version 1 around the given bytes.
func rawNPY(descr string, fortran bool, shape string, values []byte) []byte {
	order := "False"
	if fortran {
		order = "True"
	}
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, order, shape)
	dict += strings.Repeat(" ", 63-(10+len(dict))%64) + "\n"
	out := []byte("\x93NUMPY\x01\x00")
	out = binary.LittleEndian.AppendUint16(out, uint16(len(dict)))
	return append(append(out, dict...), values...)
}

// encoded is the values in the given npy type.
func encoded(t testing.TB, descr string, values ...float64) []byte {
	t.Helper()
	var order binary.AppendByteOrder = binary.LittleEndian
	if descr[0] == '>' {
		order = binary.BigEndian
	}
	var out []byte
	for _, v := range values {
		switch descr[1:] {
		case "f2":
			out = order.AppendUint16(out, half(t, v))
		case "f4":
			out = order.AppendUint32(out, math.Float32bits(float32(v)))
		case "f8":
			out = order.AppendUint64(out, math.Float64bits(v))
		case "i1", "u1":
			out = append(out, byte(int64(v)))
		case "i2", "u2":
			out = order.AppendUint16(out, uint16(int64(v)))
		case "i4", "u4":
			out = order.AppendUint32(out, uint32(int64(v)))
		case "i8", "u8":
			out = order.AppendUint64(out, uint64(int64(v)))
		default:
			t.Fatalf("no encoder for %s", descr)
		}
	}
	return out
}

// half finds the bits of an exactly representable half by search.
func half(t testing.TB, v float64) uint16 {
	t.Helper()
	for bits, x := range halves() {
		if float64(x) == v || (math.IsNaN(v) && x != x) {
			return uint16(bits)
		}
	}
	t.Fatalf("%v is not a half", v)
	return 0
}

func array(t testing.TB, name, descr, shape string, values ...float64) member {
	t.Helper()
	return member{name, rawNPY(descr, false, shape, encoded(t, descr, values...))}
}

// zipped is an npz of the members, stored or deflated.
func zipped(t testing.TB, method uint16, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range members {
		w, err := z.CreateHeader(&zip.FileHeader{Name: m.name + ".npy", Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(m.npy); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tempFile(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// good is a small well-formed problem: 3 calibration rows, 2 test rows, 2
// features, 3 classes.
func good(t testing.TB) []member {
	return []member{
		array(t, "cal_features", "<f2", "(3, 2)", 1, 2, 3, 4, 5, 6),
		array(t, "cal_logits", "<f4", "(3, 3)", 1, 0, 0, 0, 1, 0, 0, 0, 1),
		array(t, "cal_labels", "|u1", "(3,)", 0, 1, 2),
		array(t, "test_features", "<f8", "(2, 2)", -1, 0.5, 0, -7),
		array(t, "test_logits", "<f4", "(2, 3)", 1, 2, 3, 4, 5, 6),
		array(t, "test_labels", "<i8", "(2,)", 2, 0),
	}
}

func with(members []member, changed member) []member {
	out := make([]member, 0, len(members)+1)
	replaced := false
	for _, m := range members {
		if m.name == changed.name {
			m, replaced = changed, true
		}
		out = append(out, m)
	}
	if !replaced {
		out = append(out, changed)
	}
	return out
}

func TestReadMatrixTypes(t *testing.T) {
	want := mat.NewDense(2, 3, []float64{0, 1, 2, 3, 100, 127})
	for _, kind := range []string{"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"} {
		for _, order := range []string{"<", ">"} {
			for _, fortran := range []bool{false, true} {
				for _, method := range []uint16{zip.Store, zip.Deflate} {
					values := want.RawMatrix().Data
					if fortran {
						values = mat.DenseCopyOf(want.T()).RawMatrix().Data
					}
					raw := rawNPY(order+kind, fortran, "(2, 3)", encoded(t, order+kind, values...))
					path := tempFile(t, "x.npz", zipped(t, method, member{"x", raw}))
					got, err := ReadMatrix(path, "x")
					if err != nil {
						t.Fatalf("%s%s fortran=%v: %v", order, kind, fortran, err)
					}
					if !mat.Equal(got, want) {
						t.Errorf("%s%s fortran=%v method=%d: got %v", order, kind, fortran, method, mat.Formatted(got))
					}
				}
			}
		}
	}
}

func TestReadNegativeAndVersions(t *testing.T) {
	for _, kind := range []string{"f2", "f4", "f8", "i1", "i2", "i4", "i8"} {
		m := array(t, "x", "<"+kind, "(1, 2)", -1, -128)
		got, err := ReadMatrix(tempFile(t, "x.npz", zipped(t, zip.Store, m)), "x")
		if err != nil || got.At(0, 0) != -1 || got.At(0, 1) != -128 {
			t.Errorf("%s: got %v, %v", kind, got, err)
		}
	}
	v1 := rawNPY("<f8", false, "(1, 1)", encoded(t, "<f8", 42))
	for _, version := range []byte{2, 3} { // a four-byte header length
		v := append([]byte("\x93NUMPY"), version, 0)
		v = binary.LittleEndian.AppendUint32(v, uint32(binary.LittleEndian.Uint16(v1[8:])))
		v = append(v, v1[10:]...)
		got, err := ReadMatrix(tempFile(t, "x.npz", zipped(t, zip.Store, member{"x", v})), "x")
		if err != nil || got.At(0, 0) != 42 {
			t.Errorf("version %d: got %v, %v", version, got, err)
		}
	}
}

// The values of IEEE 754-2008 binary16, table of its Wikipedia article.
func TestHalves(t *testing.T) {
	for bits, want := range map[uint16]float64{
		0x0000: 0, 0x0001: 5.960464477539063e-08, 0x03ff: 6.097555160522461e-05, 0x0400: 6.103515625e-05,
		0x3555: 0.333251953125, 0x3bff: 0.99951171875, 0x3c00: 1, 0x3c01: 1.0009765625,
		0x7bff: 65504, 0xc000: -2, 0xfbff: -65504, 0x8001: -5.960464477539063e-08,
	} {
		if got := float64(halves()[bits]); got != want {
			t.Errorf("%#04x: got %v, want %v", bits, got, want)
		}
	}
	if h := halves(); !math.IsInf(float64(h[0x7c00]), 1) || !math.IsInf(float64(h[0xfc00]), -1) || h[0x7e00] == h[0x7e00] {
		t.Error("infinities or NaN are not what they should be")
	}
}

func TestOpen(t *testing.T) {
	s, err := Open(tempFile(t, "f.npz", zipped(t, zip.Deflate, good(t)...)))
	if err != nil {
		t.Fatal(err)
	}
	if s.Classes != 3 || s.Cal.Len() != 3 || s.Test.Len() != 2 || s.Val != nil {
		t.Errorf("got %d classes, cal %d, test %d, val %v", s.Classes, s.Cal.Len(), s.Test.Len(), s.Val)
	}
	if got := s.Cal.Features.At(2, 1); got != 6 {
		t.Errorf("cal_features[2,1] = %v, want 6", got)
	}
	if got := s.Test.Logits.At(1, 0); got != 4 {
		t.Errorf("test_logits[1,0] = %v, want 4", got)
	}
	if y := s.Test.Labels; y[0] != 2 || y[1] != 0 {
		t.Errorf("test_labels = %v, want [2 0]", y)
	}
	if err := s.Require("cal_features", "test_labels"); err != nil {
		t.Error(err)
	}
	err = s.Require("cal_labels", "val_labels")
	if err == nil || !strings.Contains(err.Error(), "has no val_labels; it holds cal_features, cal_logits") {
		t.Errorf("Require: got %v", err)
	}
	if e := s.RareClasses(0, 0); len(e) > 0 {
		t.Errorf("RareClasses(0, 0) = %v, want none", e)
	}
}

func TestOpenPartial(t *testing.T) {
	g := good(t)
	s, err := Open(tempFile(t, "f.npz", zipped(t, zip.Store, g[3], g[4]))) // what apply may get
	if err != nil {
		t.Fatal(err)
	}
	if s.Cal != nil || s.Test.Labels != nil || s.Classes != 3 {
		t.Errorf("got cal %v, labels %v, %d classes", s.Cal, s.Test.Labels, s.Classes)
	}
	s, err = Open(tempFile(t, "f.npz", zipped(t, zip.Store, g[0], array(t, "cal_labels", "<i4", "(3, 1)", 3, 0, 3), g[3])))
	if err != nil {
		t.Fatal(err)
	}
	if e := s.RareClasses(0, 0); s.Classes != 4 || len(e) != 2 || e[0] != 1 || e[1] != 2 {
		t.Errorf("without logits: %d classes, empty %v; want 4, [1 2]", s.Classes, e)
	}
}

func TestBadInput(t *testing.T) {
	g := good(t)
	nan, inf := math.NaN(), math.Inf(1)
	whole := zipped(t, zip.Deflate, g...)
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"nan":           {zipped(t, 0, with(g, array(t, "cal_features", "<f2", "(3, 2)", 1, 2, 3, nan, 5, 6))...), "cal_features holds NaN at row 1, column 1"},
		"inf":           {zipped(t, 0, with(g, array(t, "test_logits", "<f4", "(2, 3)", 1, 2, 3, 4, 5, inf))...), "test_logits holds +Inf at row 1, column 2"},
		"label high":    {zipped(t, 0, with(g, array(t, "cal_labels", "|u1", "(3,)", 0, 3, 1))...), "cal_labels holds 3 at row 1; labels must lie in 0…2"},
		"label low":     {zipped(t, 0, with(g, array(t, "test_labels", "<i2", "(2,)", 0, -1))...), "test_labels holds -1 at row 1"},
		"label huge":    {zipped(t, 0, g[0], g[1], member{"cal_labels", rawNPY("<u8", false, "(3,)", bytes.Repeat([]byte{255}, 24))}), "labels must lie in 0…2"},
		"huge alone":    {zipped(t, 0, g[0], array(t, "cal_labels", "<i8", "(3,)", 0, 1e15, 1)), "cal_labels holds 1000000000000000 at row 1; without logits there can be no more classes than rows, so labels must lie in 0…999"},
		"largest alone": {zipped(t, 0, g[0], member{"cal_labels", rawNPY("<i8", false, "(3,)", append(make([]byte, 16), 255, 255, 255, 255, 255, 255, 255, 127))}), "cal_labels holds 9223372036854775807 at row 2; without logits there can be no more classes than rows, so labels must lie in 0…999"},
		"float label":   {zipped(t, 0, with(g, array(t, "cal_labels", "<f4", "(3,)", 0, 1, 2))...), "cal_labels has dtype float32; save it as integers"},
		"text label":    {zipped(t, 0, g[0], g[1], member{"cal_labels", rawNPY("<U1", false, "(3,)", append([]byte("a"), make([]byte, 11)...))}), "cal_labels has no name at row 1"},
		"object label":  {zipped(t, 0, g[0], g[1], member{"cal_labels", rawNPY("|O", false, "(3,)", make([]byte, 24))}), `cal_labels has dtype "|O"; save it as integers 0…C−1`},
		"rank":          {zipped(t, 0, with(g, array(t, "cal_features", "<f4", "(3, 2, 1)", 1, 2, 3, 4, 5, 6))...), "cal_features has shape (3, 2, 1); it must have two axes"},
		"label rank":    {zipped(t, 0, with(g, array(t, "cal_labels", "|u1", "(3, 1, 3)", 1, 0, 0, 0, 1, 0, 0, 0, 1))...), "cal_labels has shape (3, 1, 3); labels have one axis"},
		"rows":          {zipped(t, 0, with(g, array(t, "cal_labels", "|u1", "(2,)", 0, 1))...), "cal_logits has 3 rows and cal_labels has 2"},
		"columns":       {zipped(t, 0, with(g, array(t, "test_features", "<f4", "(2, 1)", 0, 1))...), "cal_features has 2 columns and test_features has 1"},
		"classes":       {zipped(t, 0, with(g, array(t, "test_logits", "<f4", "(2, 2)", 0, 1, 2, 3))...), "cal_logits has 3 columns and test_logits has 2"},
		"one class":     {zipped(t, 0, array(t, "cal_logits", "<f4", "(2, 1)", 0, 1)), "cal_logits has 1 column"},
		"no rows":       {zipped(t, 0, with(g, array(t, "cal_features", "<f4", "(0, 2)"))...), "cal_features has shape (0, 2); it must have at least one row"},
		"predictions":   {zipped(t, 0, array(t, "probs", "<f4", "(1, 2)", 1, 0)), "name the arrays of those cal_probs and test_probs"},
		"no keys":       {zipped(t, 0, array(t, "x", "<f4", "(1, 1)", 0)), "has no cal_features; it holds x"},
		"no arrays":     {zipped(t, 0), "has no cal_features; it holds no array at all"},
		"complex":       {zipped(t, 0, member{"cal_features", rawNPY("<c8", false, "(1, 1)", make([]byte, 8))}), `cal_features has dtype "<c8"; save it as float16`},
		"pickle":        {zipped(t, 0, member{"cal_features", rawNPY("|O", false, "(1, 1)", make([]byte, 8))}), `cal_features has dtype "|O"`},
		"quarter":       {zipped(t, 0, member{"cal_features", rawNPY("<f1", false, "(1, 1)", make([]byte, 1))}), `cal_features has dtype "<f1"`},
		"not npy":       {zipped(t, 0, member{"cal_features", []byte("hello, world")}), "cal_features is not an npy array"},
		"empty member":  {zipped(t, 0, member{"cal_features", nil}), "cal_features is truncated"},
		"no header":     {zipped(t, 0, member{"cal_features", []byte("\x93NUMPY\x01\x00\x04\x00abcd")}), "cal_features has no readable npy header"},
		"big header":    {zipped(t, 0, member{"cal_features", []byte("\x93NUMPY\x02\x00\xff\xff\xff\x7f")}), "npy header of 2147483647 bytes"},
		"version":       {zipped(t, 0, member{"cal_features", []byte("\x93NUMPY\x07\x00\x00\x00")}), "cal_features has npy version 7"},
		"big shape":     {zipped(t, 0, member{"cal_features", rawNPY("<f4", false, "(1000000000, 1000)", make([]byte, 8))}), "takes 4000000000000 bytes and the file has 8"},
		"overflow":      {zipped(t, 0, member{"cal_features", rawNPY("<f4", false, "(4294967296, 4294967296)", make([]byte, 8))}), "too large for memory"},
		"not int":       {zipped(t, 0, member{"cal_features", rawNPY("<f4", false, "(99999999999999999999, 1)", make([]byte, 8))}), "must be whole numbers"},
		"short data":    {zipped(t, 0, member{"cal_features", rawNPY("<f4", false, "(2, 2)", make([]byte, 12))}), "takes 16 bytes and the file has 12"},
		"twice":         {zipped(t, 0, g[0], g[0]), "holds cal_features twice"},
		"not a zip":     {[]byte("true,preds\n1,2\n"), "is not an npz file"},
		"empty":         {nil, "is not an npz file"},
		"truncated":     {whole[:len(whole)/2], "is not an npz file, or a truncated one"},
		"damaged":       {flip(zipped(t, 0, g...), "\x00\x3c\x00\x40"), "cal_features is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			path := tempFile(t, "f.npz", c.file)
			_, err := Open(path)
			var input *InputError
			if !errors.As(err, &input) || input.Path != path {
				t.Fatalf("got %v, want an InputError about %s", err, path)
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

// flip changes one byte of the first occurrence of pattern.
func flip(b []byte, pattern string) []byte {
	i := bytes.Index(b, []byte(pattern))
	b[i] ^= 1
	return b
}

func TestOpenNoFile(t *testing.T) {
	for path, want := range map[string]string{
		filepath.Join(t.TempDir(), "none.npz"): "no such file",
		t.TempDir():                            "is not a file",
	} {
		_, err := Open(path)
		var input *InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", path, err)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none.npz")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want it to wrap os.ErrNotExist", err)
	}
}

// A directory entry that claims terabytes is refused before anything is
// allocated for it.
func TestForgedSizes(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	raw := rawNPY("<f8", false, "(1000000, 1000000)", make([]byte, 8))
	w, err := z.CreateRaw(&zip.FileHeader{
		Name: "cal_features.npy", Method: zip.Store, CRC32: crc32.ChecksumIEEE(raw),
		CompressedSize64: uint64(len(raw)), UncompressedSize64: 8e12 + 128,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Open(tempFile(t, "f.npz", b.Bytes()))
	if err == nil || !strings.Contains(err.Error(), "claims more bytes than the file can hold") {
		t.Errorf("got %v", err)
	}
}

func TestWriteNPZRoundTrip(t *testing.T) {
	dir := t.TempDir()
	m := mat.NewDense(2, 3, []float64{1, -0.1, math.Pi, 4, 5e-300, 6})
	arrays := []Array{
		{"matrix", m}, {"part", m.Slice(0, 2, 1, 3)},
		{"labels", []int{4, 0, -7}}, {"doubles", []float64{1.5}}, {"floats", []float32{2.5}},
	}
	a, b := filepath.Join(dir, "a.npz"), filepath.Join(dir, "b.npz")
	for _, path := range []string{a, b} {
		if err := writeNPZ(path, arrays...); err != nil {
			t.Fatal(err)
		}
	}
	first, _ := os.ReadFile(a)
	second, _ := os.ReadFile(b)
	if !bytes.Equal(first, second) {
		t.Error("equal arrays gave different bytes")
	}
	got, err := ReadMatrix(a, "matrix")
	if err != nil || !mat.Equal(got, m) {
		t.Errorf("matrix: got %v, %v", got, err)
	}
	got, err = ReadMatrix(a, "part")
	if err != nil || !mat.Equal(got, m.Slice(0, 2, 1, 3)) {
		t.Errorf("part: got %v, %v", got, err)
	}
	f, err := openArchive(a)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	if got := strings.Join(f.keys, " "); got != "matrix part labels doubles floats" {
		t.Errorf("keys in order %q", got)
	}
	labels, err := f.labels("labels")
	if err != nil || labels[0] != 4 || labels[2] != -7 {
		t.Errorf("labels: got %v, %v", labels, err)
	}
}

// TestTruthValuesAreNumbers: numpy's bool labels are those of two classes.
func TestTruthValuesAreNumbers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.npz")
	file := zipped(t, 0, array(t, "cal_logits", "<f4", "(3, 2)", 1, 2, 3, 4, 5, 6), member{"cal_labels", rawNPY("|b1", false, "(3,)", []byte{0, 1, 1})})
	if err := os.WriteFile(path, file, 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil || !slices.Equal(s.Cal.Labels, []int{0, 1, 1}) {
		t.Errorf("%v, %v", s, err)
	}
}

// writeNPZ makes an npz file of the arrays.
func writeNPZ(path string, arrays ...Array) error { return writeWith(path, NPZ(arrays...)) }

// writeTable makes a file of the arrays in the format that its name asks for.
func writeTable(path string, arrays ...Array) error {
	write, err := Formatted(path, arrays...)
	if err != nil {
		return err
	}
	return writeWith(path, write)
}

func writeWith(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
