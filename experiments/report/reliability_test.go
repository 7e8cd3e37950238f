package report

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"calibra/experiments/metrics"

	"gonum.org/v1/gonum/mat"
)

// overconfident draws labels from softmax predictions and sharpens these after.
func overconfident(rows, classes int, rng *rand.Rand) (logProbs, embedding *mat.Dense, labels []int) {
	logProbs, embedding, labels = mat.NewDense(rows, classes, nil), mat.NewDense(rows, 3, nil), make([]int, rows)
	normalize := func(x []float64) {
		var sum float64
		for _, v := range x {
			sum += math.Exp(v)
		}
		for k := range x {
			x[k] -= math.Log(sum)
		}
	}
	for i := range rows {
		x := logProbs.RawRowView(i)
		for c := range x {
			x[c] = 1.5 * rng.NormFloat64()
		}
		normalize(x)
		u := rng.Float64()
		for c, v := range x {
			labels[i] = c
			if u -= math.Exp(v); u < 0 {
				break
			}
		}
		for c := range x {
			x[c] *= 1.8
		}
		normalize(x)
		for k := range 3 {
			embedding.Set(i, k, 20*rng.NormFloat64())
		}
	}
	return logProbs, embedding, labels
}

func figures(t *testing.T) map[string]*Figure {
	t.Helper()
	logProbs, embedding, labels := overconfident(3000, 4, rand.New(rand.NewPCG(1, 1)))
	top, _, err := metrics.Reliability(logProbs, labels, metrics.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := metrics.Measure(context.Background(), logProbs, labels, embedding, metrics.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*Figure{"reliability": Diagrams([]Diagram{{"Top class", top}}), "ess-profile": ESSProfile("Local calibration along density", m.Local.ESSProfile(15))}
}

func TestFiguresAreImages(t *testing.T) {
	again := figures(t)
	for name, f := range figures(t) {
		for _, format := range Formats {
			image, err := f.Render(format)
			if err != nil {
				t.Fatal(err)
			}
			if twin, err := again[name].Render(format); err != nil || !bytes.Equal(image, twin) {
				t.Errorf("%s.%s: drawn twice, two images (%v)", name, format, err)
			}
			switch format {
			case "png":
				if _, err := png.Decode(bytes.NewReader(image)); err != nil {
					t.Errorf("%s.png: %v", name, err)
				}
			case "svg":
				for d := xml.NewDecoder(bytes.NewReader(image)); ; {
					if _, err := d.Token(); errors.Is(err, io.EOF) {
						break
					} else if err != nil {
						t.Errorf("%s.svg: %v", name, err)
						break
					}
				}
			}
		}
	}
}

func TestSparseFigures(t *testing.T) {
	nan := math.NaN()
	one := &metrics.Curve{
		Confidence: []float64{nan, 0.9}, Frequency: []float64{nan, 1},
		Low: []float64{nan, 0.2}, High: []float64{nan, 1}, Count: []int{0, 1},
	}
	if _, err := Diagrams([]Diagram{{"One row", one}}).Render("png"); err != nil {
		t.Error(err)
	}
	if _, err := ESSProfile("No neighbours", metrics.Profile{LCE: []float64{.3}, At: []float64{0}, Count: []int{5}}).Render("svg"); err != nil {
		t.Error(err)
	}
	empty := &metrics.Curve{Confidence: []float64{nan}, Frequency: []float64{nan}, Low: []float64{nan}, High: []float64{nan}, Count: []int{0}}
	for name, f := range map[string]*Figure{
		"a profile of nothing": ESSProfile("Nothing", metrics.Profile{Count: []int{0}}), "a curve of nothing": Diagrams([]Diagram{{"Nothing", empty}}),
		"a bar without end": Bars([]BarPanel{{Bars: []Bar{{Mean: math.Inf(1), Floor: nan}}}}),
		"a point nowhere":   Lines([]LinePanel{{Series: []Series{{X: []float64{0, 1}, Mean: []float64{1, 2}, Low: []float64{0, 1}, High: []float64{2, math.Inf(1)}}}}}),
	} {
		if _, err := f.Render("svg"); err == nil {
			t.Error(name, "was drawn")
		}
	}
}
