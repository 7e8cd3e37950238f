// Package paper has the numbers of the paper's tables, transcribed from divide-et-calibra.tex. Each table is a csv file,
// and each row of it is one number.
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
	"embed"
	"encoding/csv"
	"fmt"
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
	if err != nil {
		panic("paper: embedded tables: " + err.Error())
	}
	tables := map[string][]Number{}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".csv")
		if tables[name], err = read(e.Name()); err != nil {
			panic(fmt.Sprintf("paper: embedded table %s: %v", e.Name(), err))
		}
	}
	return tables
})

func read(file string) ([]Number, error) {
	f, err := files.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	var numbers []Number
	for line, r := range records[1:] {
		n := Number{Dataset: r[0], Backbone: r[1], Method: r[2], Metric: r[5]}
		var errs [4]error
		n.Slots, errs[0] = strconv.Atoi(r[3])
		n.Codewords, errs[1] = strconv.Atoi(r[4])
		n.Mean, errs[2] = strconv.ParseFloat(r[6], 64)
		n.SD = math.NaN()
		if r[7] != "" {
			n.SD, errs[3] = strconv.ParseFloat(r[7], 64)
		}
		for _, err := range errs {
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", line+2, err)
			}
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}
