package source_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/run"
	"calibra/experiments/source"

	"gonum.org/v1/gonum/mat"
)

// Every origin is a small file in the format of the real one, and loads as a
// problem that a method can be fitted on and judged on.

func put(t *testing.T, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// rows is n lines of m numbers in which column 0 tells the label, y of classes.
func rows(n, classes int, rng *rand.Rand, line func(b *strings.Builder, y int, x float64)) string {
	var b strings.Builder
	for i := range n {
		y := i % classes
		line(&b, y, float64(2*y)+rng.NormFloat64())
	}
	return b.String()
}

func weather(t *testing.T) string {
	dir, rng := filepath.Join(t.TempDir(), "weather"), rand.New(rand.NewPCG(1, 1))
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"train", "dev_in", "eval_in", "eval_out"} {
		text := "fact_time,fact_latitude,fact_longitude,fact_temperature,fact_cwsm_class,climate,sun_elevation,gfs_pressure\n" +
			rows(150, 5, rng, func(b *strings.Builder, y int, x float64) {
				fmt.Fprintf(b, "1.5e9,50.1,30.2,12.0,%d.0,dry,%g,%g\n", 10*y, x, rng.NormFloat64())
			})
		put(t, dir, "shifts_canonical_"+part+".csv", []byte(text))
	}
	return dir
}

func table(t *testing.T) string {
	rng := rand.New(rand.NewPCG(1, 1))
	return put(t, t.TempDir(), "irises.csv", []byte("width,length,species\n"+rows(300, 3, rng, func(b *strings.Builder, y int, x float64) {
		fmt.Fprintf(b, "%g,%g,%c\n", x, rng.NormFloat64(), 'a'+y)
	})))
}

// cifar10 has a few images a batch file; the class is the brightness.
func cifar10(t *testing.T) string {
	var file bytes.Buffer
	z := gzip.NewWriter(&file)
	out := tar.NewWriter(z)
	add := func(name string, content []byte) {
		if err := out.WriteHeader(&tar.Header{Name: "cifar-10-batches-bin/" + name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		out.Write(content)
	}
	batch := func() (content []byte) {
		for i := range 30 {
			y := byte(i % 10)
			content = append(content, y)
			content = append(content, bytes.Repeat([]byte{20 * y}, 3072)...)
		}
		return content
	}
	add("batches.meta.txt", []byte("airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n"))
	for i := range 5 {
		add(fmt.Sprintf("data_batch_%d.bin", i+1), batch())
	}
	add("test_batch.bin", batch())
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return put(t, t.TempDir(), "cifar-10-binary.tar.gz", file.Bytes())
}

// tissue is an npz of MedMNIST's layout, 4×4 grey images of three classes.
func tissue(t *testing.T) string {
	var file bytes.Buffer
	z := zip.NewWriter(&file)
	add := func(name string, shape string, content []byte) {
		head := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': %s, }", shape)
		head += strings.Repeat(" ", 63-(len(head)+10)%64) + "\n"
		w, err := z.Create(name + ".npy")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(w, "\x93NUMPY\x01\x00%c%c%s", byte(len(head)), byte(len(head)>>8), head)
		w.Write(content)
	}
	for _, part := range []string{"train", "val", "test"} {
		const n = 60
		var images, labels []byte
		for i := range n {
			y := byte(i % 3)
			labels = append(labels, y)
			images = append(images, bytes.Repeat([]byte{80 * y}, 16)...)
		}
		add(part+"_images", fmt.Sprintf("(%d, 4, 4)", n), images)
		add(part+"_labels", fmt.Sprintf("(%d, 1)", n), labels)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return put(t, t.TempDir(), "tissuemnist.npz", file.Bytes())
}

func TestOrigins(t *testing.T) {
	for _, c := range []struct {
		arg, dataset       string
		classes, cal, test int
		shifted, encoded   bool
		encoder            string // the smaller one of many features, "" for the default
	}{
		{weather(t), "weather", 5, 150, 150, true, true, ""},
		{table(t), "irises", 3, 90, 90, true, true, ""},
		{cifar10(t), "cifar10", 10, 30, 68, false, true, "mlp-shallow"}, // the last of 45, 10 and 45 % of 150 rows
		{tissue(t), "tissue", 3, 60, 30, false, true, "mlp-shallow"},
		{"digits", "digits", 10, 539, 540, true, true, "mlp-shallow"},
		{"cubic", "cubic", 4, 5000, 10000, false, false, ""},
		{"proximity", "proximity", 4, 5000, 10000, false, false, ""},
	} {
		o, err := source.Registry(nil).Open(c.arg, source.Settings{})
		if err != nil {
			t.Errorf("%s: %v", c.arg, err)
			continue
		}
		if c.dataset != "" && o.Dataset != c.dataset {
			t.Errorf("%s is the data set %s", c.arg, o.Dataset)
		}
		if (o.Encoders != nil) != c.encoded {
			t.Errorf("%s has the encoders %v", c.arg, o.Encoders)
		}
		p, err := o.Load(t.Context(), 1, c.encoder, "")
		if err != nil {
			t.Errorf("%s: %v", c.arg, err)
			continue
		}
		src := p.Source
		if src.Classes != c.classes || src.Cal.Len() != c.cal || src.Test.Len() != c.test || (p.Shifted != nil) != c.shifted {
			t.Errorf("%s has %d classes, %d and %d rows, shifted %v", c.arg, src.Classes, src.Cal.Len(), src.Test.Len(), p.Shifted != nil)
		}
		claimed, err := o.Size(t.Context(), c.encoder)
		if has := source.SizeOf(src); err != nil || claimed != has {
			t.Errorf("%s claims %+v, has %+v: %v", c.arg, claimed, has, err)
		}
		shifts := append([]source.Shift{""}, o.Shifts...)
		if slices.Contains(shifts, "corrupt-1") { // of images; all kinds are tested in package data
			shifts = []source.Shift{"", source.ThinShift, "corrupt-1", "fog-5"}
		}
		for _, shift := range shifts {
			spec := run.Spec{Method: "ts", Data: o.Name, Encoder: c.encoder, Split: data.PaperTables, Seed: 1, Shift: shift, Judging: run.Judging{Anchors: 200}}
			if shift != "" {
				if p, err = o.Load(t.Context(), 1, c.encoder, shift); err != nil {
					t.Fatalf("%s, %s: %v", c.arg, shift, err)
				}
			}
			prepared, err := spec.Prepare(p)
			if err != nil {
				t.Fatalf("%s: %v", c.arg, err)
			}
			run, err := spec.FitPrepared(t.Context(), prepared, nil)
			if err != nil {
				t.Fatalf("%s: %v", c.arg, err)
			}
			if known := run.Outcome.Truth != nil; known != (src.Val != nil) {
				t.Errorf("%s, shift %s: a true posterior is known: %v", c.arg, shift, known)
			}
		}
	}
}

// TestOriginsByContent: what a file holds decides what it is, not a word in its name.
func TestOriginsByContent(t *testing.T) {
	dir := t.TempDir()
	csv, err := os.ReadFile(table(t))
	if err != nil {
		t.Fatal(err)
	}
	if o, err := source.Registry(nil).Open(put(t, dir, "weather.csv", csv), source.Settings{}); err != nil || o.Encoders == nil {
		t.Errorf("a table named weather: %v", err)
	}
	for _, name := range []string{"weather-ftt.npz", "mnist.npz"} {
		path := filepath.Join(dir, name)
		features(t, path, 2, 2)
		o, err := source.Registry(nil).Open(path, source.Settings{})
		if err != nil {
			t.Errorf("features in %s: %v", name, err)
			continue
		}
		if _, err := o.Load(t.Context(), 1, "", ""); err != nil {
			t.Errorf("features in %s: %v", name, err)
		}
	}
}

// features writes an npz of three rows of each part.
func features(t *testing.T, path string, width, classes int) {
	t.Helper()
	var arrays []data.Array
	for _, part := range []string{"cal", "test"} {
		arrays = append(arrays,
			data.Array{Name: part + "_features", Value: mat.NewDense(3, width, nil)},
			data.Array{Name: part + "_logits", Value: mat.NewDense(3, classes, nil)},
			data.Array{Name: part + "_labels", Value: []int{0, 1, 0}})
	}
	if err := disk.WriteNPZ(path, arrays...); err != nil {
		t.Fatal(err)
	}
}

// TestOriginsRefuse: rows that do not go together and tables of too few rows are the
// user's to mend, in a sentence.
func TestOriginsRefuse(t *testing.T) {
	dir := t.TempDir()
	two := filepath.Join(dir, "two.npz")
	features(t, two, 2, 2)
	wide, more := filepath.Join(dir, "wide.npz"), filepath.Join(dir, "more.npz")
	features(t, wide, 3, 2)
	features(t, more, 2, 3)
	for _, c := range []struct{ arg, shifted, want string }{
		{two, wide, "has 3 features a row, two.npz has 2"},
		{two, more, "has logits of 3 classes, two.npz of 2"},
		{tissue(t), two, "cannot be the shifted rows of"},
		{put(t, dir, "few.csv", []byte("1,2,a\n3,4,b\n")), "", "has 2 rows, too few"},
	} {
		o, err := source.Registry(nil).Open(c.arg, source.Settings{Shifted: c.shifted})
		if err == nil {
			_, err = o.Load(t.Context(), 1, "", "")
		}
		var input *data.InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: got %v, want %s", c.arg, c.shifted, err, c.want)
		}
	}
}

// TestRowsKeepTheirNumbers through encoder and split: the test rows of all seeds are rows
// of one table, by which methods are compared.
func TestRowsKeepTheirNumbers(t *testing.T) {
	table := data.Digits()
	few := &data.Table{Name: table.Name, Classes: table.Classes, Features: mat.DenseCopyOf(table.Features.Slice(0, 200, 0, 64)), Labels: table.Labels[:200]}
	for _, seed := range []uint64{1, 2} {
		p, err := source.EncodeTable(t.Context(), few, source.Encoder{Name: "small", Hidden: []int{4}}, seed)
		if err != nil {
			t.Fatal(err)
		}
		s, err := p.Source.Split(data.PaperTables, rand.New(rand.NewPCG(seed, 0)))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int]bool{}
		for _, part := range []*data.Set{s.Cal, s.Val, s.Test} {
			if len(part.Numbers) != part.Len() {
				t.Fatalf("%d rows have %d numbers", part.Len(), len(part.Numbers))
			}
			for i, number := range part.Numbers {
				if seen[number] || part.Labels[i] != few.Labels[number] {
					t.Fatalf("seed %d: row %d is said to be %d", seed, i, number)
				}
				seen[number] = true
			}
		}
	}
}
