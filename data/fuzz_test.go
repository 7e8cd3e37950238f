package data

import (
	"archive/zip"
	"bytes"
	"math"
	"slices"
	"testing"
)

// FuzzReadPredictions: whatever the bytes, rows that are distributions, or an input error.
func FuzzReadPredictions(f *testing.F) {
	for _, key := range []string{"probs", "log_probs", "logits"} {
		f.Add(zipped(f, zip.Store, array(f, key, "<f8", "(2, 2)", 0.5, 0.5, 1, 0), array(f, "labels", "<i8", "(2,)", 0, 1)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := newArchive("fuzz", bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		p, err := readPredictions(a, "")
		if err != nil {
			if !isInput(err) {
				t.Fatalf("%v is no input error", err)
			}
			return
		}
		n, c := p.LogProbs.Dims()
		for i := range n {
			sum := 0.0
			for _, v := range p.LogProbs.RawRowView(i) {
				sum += math.Exp(v)
			}
			if !(math.Abs(sum-1) < 1e-6) {
				t.Fatalf("row %d of %d classes sums to %v", i, c, sum)
			}
		}
		if InvalidLabel(p.Labels, c) >= 0 {
			t.Fatalf("labels %v of %d classes", p.Labels, c)
		}
	})
}

// FuzzOpenMedMNIST: whatever the bytes, images that fit together, or an input error.
func FuzzOpenMedMNIST(f *testing.F) {
	var members []member
	for _, part := range []string{"train", "val", "test"} {
		members = append(members, array(f, part+"_images", "|u1", "(2, 1, 2)", 1, 2, 3, 4), array(f, part+"_labels", "|u1", "(2, 1)", 0, 1))
	}
	f.Add(zipped(f, zip.Store, members...))
	f.Fuzz(func(t *testing.T, b []byte) {
		train, val, test, err := openMedMNIST(tempFile(t, "mnist.npz", b))
		if err != nil {
			if !isInput(err) {
				t.Fatalf("%v is no input error", err)
			}
			return
		}
		for _, im := range []*Inputs{train, val, test} {
			if len(im.pixels) != im.Len()*im.Width() || InvalidLabel(im.Labels, len(im.Classes)) >= 0 {
				t.Fatalf("%d pixels of %d images, labels %v", len(im.pixels), im.Len(), im.Labels)
			}
		}
	})
}

// FuzzReadEmbedding: whatever the bytes, an embedding that applies, or an input error.
func FuzzReadEmbedding(f *testing.F) {
	f.Add(zipped(f, zip.Store, array(f, "scale", "<f8", "(2, 2)", 0, 0, 1, 1), array(f, "axes", "<f8", "(2, 1)", 1, 0), array(f, "variances", "<f8", "(1, 1)", 1)))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := ReadEmbedding(tempFile(t, "embedding.npz", b))
		if err != nil {
			if !isInput(err) {
				t.Fatalf("%v is no input error", err)
			}
			return
		}
		if m, p := e.Axes.Dims(); m != len(e.Scale.Mean) || m != len(e.Scale.SD) || p != len(e.Variances) {
			t.Fatalf("%d×%d axes, %d means", m, p, len(e.Scale.Mean))
		}
	})
}

// FuzzRowLimit: what rowLimit lets through is what was there, up to a row that is too long.
func FuzzRowLimit(f *testing.F) {
	f.Add([]byte("a,b\n\"c\nd\",e\n"), 3)
	f.Fuzz(func(t *testing.T, text []byte, times int) {
		text = bytes.Repeat(text, max(1, min(times, 64)))
		var got []byte
		l := &rowLimit{r: bytes.NewReader(text)}
		for buf := make([]byte, 7); ; {
			n, err := l.Read(buf)
			got = append(got, buf[:n]...)
			if err != nil {
				break
			}
		}
		if len(text) <= longestRow && !slices.Equal(got, text) {
			t.Fatalf("%d bytes of %d came through", len(got), len(text))
		}
	})
}
