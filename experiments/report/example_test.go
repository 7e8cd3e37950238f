package report_test

import (
	"bytes"
	"fmt"
	"strings"

	"calibra/experiments/metrics"
	"calibra/experiments/report"
)

func ExampleDocument_WriteMarkdown() {
	d := report.Document{Title: "Letters", Sections: []*report.Section{{
		Title: "Local calibration",
		Tables: []*report.Table{{
			Labels: []string{"Method"}, Values: []report.Head{{Text: "LCE", Arrow: "↓"}},
			Blocks: []report.Block{{Name: "letter", Rows: []report.Row{
				{Labels: []string{"VQ"}, Cells: []report.Cell{{Text: ".0046", Mark: metrics.Best}}, Winner: true},
				{Labels: []string{"TS"}, Cells: []report.Cell{{Text: ".0101", Mark: metrics.Second}}},
			}}},
		}},
	}}}
	var text strings.Builder
	if err := d.WriteMarkdown(&text); err != nil {
		fmt.Println(err)
		return
	}
	for line := range strings.Lines(text.String()) {
		if strings.HasPrefix(line, "|") {
			fmt.Print(line)
		}
	}
	// Output:
	// | data | Method | LCE ↓ |
	// |---|---|--:|
	// | letter | VQ | **.0046** |
	// |  | TS | <u>.0101</u> |
}

func ExampleDiagrams() {
	curve := &metrics.Curve{
		Confidence: []float64{0.25, 0.75}, Frequency: []float64{0.2, 0.8},
		Low: []float64{0.1, 0.7}, High: []float64{0.3, 0.9}, Count: []int{40, 60},
	}
	figure := report.Diagrams([]report.Diagram{{Name: "one network", Curve: curve}})
	svg, err := figure.Render("svg")
	if err != nil {
		fmt.Println(err)
		return
	}
	again, _ := figure.Render("svg")
	fmt.Println(bytes.Contains(svg, []byte("<svg")), bytes.Equal(svg, again))
	// Output: true true
}
