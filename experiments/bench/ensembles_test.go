package main

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"calibra/data/synthetic"
	"calibra/experiments/method"
)

// BenchmarkEnsembles predicts rows of 64 features and ten classes by one member and by five, in ns a row.
func BenchmarkEnsembles(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 0))
	problem := synthetic.NewProximity(synthetic.Settings{Features: 64, Classes: 10}, rng)
	cal, _ := problem.Draw(600, rng)
	x, _ := problem.Draw(4096, rng)
	for _, name := range []string{"vq", "pool", "corrected"} {
		for _, members := range []int{1, 5} {
			b.Run(fmt.Sprintf("%s/members=%d", name, members), func(b *testing.B) {
				m, err := method.Find(name)
				if err != nil {
					b.Fatal(err)
				}
				set, err := method.ParseValues(fmt.Sprintf("ensemble.members=%d", members))
				if err != nil {
					b.Fatal(err)
				}
				model, _, err := m.Build(method.Options{Values: set, Features: 64})
				if err != nil {
					b.Fatal(err)
				}
				if err := model.Fit(b.Context(), cal, nil, rand.New(rand.NewPCG(2, 0))); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if _, err := model.Predict(x); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*x.Len()), "ns/row")
			})
		}
	}
}

// BenchmarkPool fits corrected and a pool that has it as a member to 10,000 rows of 512 features and ten classes: at
// most 1.3 times its time.
func BenchmarkPool(b *testing.B) {
	cal, took := labelled(10000, 512, 10), map[string]time.Duration{}
	for b.Loop() {
		for _, name := range []string{"corrected", "pool"} {
			m, err := method.Find(name)
			if err != nil {
				b.Fatal(err)
			}
			model, _, err := m.Build(method.Options{Features: 512})
			if err != nil {
				b.Fatal(err)
			}
			start := time.Now()
			if err := model.Fit(b.Context(), cal, nil, rand.New(rand.NewPCG(2, 0))); err != nil {
				b.Fatal(err)
			}
			took[name] += time.Since(start)
		}
	}
	b.ReportMetric(took["pool"].Seconds()/took["corrected"].Seconds(), "×corrected")
}
