package data_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"calibra/data"
	"calibra/data/disk"
	"calibra/data/synthetic"

	"gonum.org/v1/gonum/mat"
)

// inFolder runs f in a new folder.
func inFolder(f func(dir string) error) {
	dir, err := os.MkdirTemp("", "calibra")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := f(dir); err != nil {
		panic(err)
	}
}

func ExampleOpen() {
	inFolder(func(dir string) error {
		path := filepath.Join(dir, "features.npz")
		err := disk.WriteNPZ(path,
			data.Array{Name: "cal_features", Value: mat.NewDense(2, 3, []float64{1, 2, 3, 4, 5, 6})},
			data.Array{Name: "cal_logits", Value: mat.NewDense(2, 2, []float64{1, -1, -2, 2})},
			data.Array{Name: "cal_labels", Value: []int{0, 1}})
		if err != nil {
			return err
		}
		s, err := data.Open(path)
		if err != nil {
			return err
		}
		fmt.Println(s.Cal.Len(), "rows,", s.Classes, "classes")
		fmt.Println("ready to test:", s.Require("test_features") == nil)
		return nil
	})
	// Output:
	// 2 rows, 2 classes
	// ready to test: false
}

func ExampleReadPredictions() {
	inFolder(func(dir string) error {
		path := filepath.Join(dir, "predictions.npz")
		p := &data.Predictions{
			LogProbs: mat.NewDense(1, 2, []float64{math.Log(0.25), math.Log(0.75)}),
			Labels:   []int{1},
		}
		arrays := append(p.Arrays(), data.Array{Name: "embedding", Value: mat.NewDense(1, 1, []float64{7})})
		if err := disk.WriteNPZ(path, arrays...); err != nil {
			return err
		}
		read, err := data.ReadPredictions(path)
		if err != nil {
			return err
		}
		embedding, err := data.ReadMatrix(path, "embedding")
		if err != nil {
			return err
		}
		fmt.Printf("p = %.2f, label %d, embedding %v\n", math.Exp(read.LogProbs.At(0, 1)), read.Labels[0], embedding.At(0, 0))
		return nil
	})
	// Output: p = 0.75, label 1, embedding 7
}

func ExampleFitEmbedding() {
	cal := mat.NewDense(4, 2, []float64{0, 0, 1, 10, 2, 20, 3, 30}) // one direction only
	e, err := data.FitEmbedding(cal, 1)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.3f\n", mat.Formatted(e.Apply(cal).T()))
	// Output: [-1.897  -0.632   0.632   1.897]
}

func ExampleSource_Split() {
	world := synthetic.NewCubic(synthetic.Settings{}, rand.New(rand.NewPCG(1, 0)))
	cal, _ := world.Draw(1000, rand.New(rand.NewPCG(2, 0)))
	test, _ := world.Draw(500, rand.New(rand.NewPCG(3, 0)))
	source := &data.Source{Classes: 4, Cal: cal, Test: test}
	for _, p := range []data.Holdout{data.PaperText, data.PaperTables} {
		s, err := source.Split(p, rand.New(rand.NewPCG(42, 0)))
		if err != nil {
			panic(err)
		}
		fmt.Println(p, s.Cal.Len(), s.Val.Len(), s.Test.Len())
	}
	// Output:
	// paper 900 100 500
	// tables 1000 50 450
}

func ExampleOpenCSV() {
	inFolder(func(dir string) error {
		path := filepath.Join(dir, "iris.csv")
		if err := os.WriteFile(path, []byte("length,width,kind\n5.1,3.5,setosa\n7.0,3.2,versicolor\n"), 0o644); err != nil {
			return err
		}
		t, err := data.OpenCSV(path, "kind")
		if err != nil {
			return err
		}
		fmt.Println(t.Columns, t.Classes, t.Labels)
		return nil
	})
	// Output: [length width] [setosa versicolor] [0 1]
}

func ExampleInputf() {
	err := data.Inputf("features.npz", "has %d features, which 7 slots do not divide; choose a divisor", 512)
	fmt.Println(err)
	// Output: features.npz: has 512 features, which 7 slots do not divide; choose a divisor
}
