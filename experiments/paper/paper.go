// Package paper has the numbers of the paper's tables, transcribed from divide-et-calibra.tex. Each table is a csv
// file, and each row of it is one number.
//
//	main         tab:allResults         all methods, ResNet
//	weather      tab:results_weather    all methods, FT-Transformer
//	weather-ood  tab:results_weather_ood
//	convnext     tab:results_convnext
//	vit          tab:results_vit
//	ablation     tab:ablation           VQ, VQ-DC, VQ-NC, DC, NC
//	slots        tab:ablationSlots
//	codebook     tab:ablationCodebook
//	usage        tab:usage_stats
//	time         section Training Time
//
// Means are over five seeds; sd is their standard deviation as printed.
package paper

import (
	"bytes"
	"embed"
	"encoding/csv"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"calibra/experiments/metrics"
)

//go:embed *.csv
var files embed.FS

// Number is one number of a table.
type Number struct {
	Dataset, Backbone string // "cifar10", "resnet"
	Method            string // "vq"
	Slots, Codewords  int    // 0 of methods that do not divide the space
	Metric            string // a metrics.Metric's key, or one of usage_… and …_seconds_per_epoch
	metrics.Spread           // SD is NaN where the paper prints none
}

// backbones that the paper has numbers of.
var backbones = []string{"resnet", "convnext", "vit", "ftt"}

// Find is the number of the tables, the first that has it. Features that no
// backbone of the paper made are matched by data set alone.
func Find(tables []string, want Number) (Number, bool) {
	for _, name := range tables {
		for _, n := range all()[name] {
			match := n.Dataset == want.Dataset && n.Method == want.Method && n.Metric == want.Metric &&
				(n.Backbone == want.Backbone || !slices.Contains(backbones, want.Backbone)) &&
				(n.Slots == 0 || n.Slots == want.Slots && n.Codewords == want.Codewords)
			if match {
				return n, true
			}
		}
	}
	return Number{}, false
}

// all is the numbers of each table by the name of its file, in the order printed.
var all = sync.OnceValue(func() map[string][]Number {
	entries, err := files.ReadDir(".")
	sound(err)
	tables := map[string][]Number{}
	for _, e := range entries {
		text, err := files.ReadFile(e.Name())
		sound(err)
		records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		sound(err)
		name := strings.TrimSuffix(e.Name(), ".csv")
		for _, r := range records[1:] {
			tables[name] = append(tables[name], newNumber(r))
		}
	}
	return tables
})

// newNumber is that of a line of a table.
func newNumber(r []string) Number {
	number := func(text string) float64 {
		x, err := strconv.ParseFloat(text, 64)
		sound(err)
		return x
	}
	n := Number{Dataset: r[0], Backbone: r[1], Method: r[2], Metric: r[5]}
	n.Slots, n.Codewords = int(number(r[3])), int(number(r[4]))
	n.Mean, n.SD = number(r[6]), math.NaN()
	if r[7] != "" {
		n.SD = number(r[7])
	}
	return n
}

// sound panics of an embedded table that cannot be read.
func sound(err error) {
	if err != nil {
		panic("paper: embedded tables: " + err.Error())
	}
}
