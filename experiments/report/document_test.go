package report

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"calibra/experiments/diagnosis"
	"calibra/experiments/metrics"
)

var document = Document{
	Title: "Study <main>", Intro: "All & sundry.",
	Sections: []*Section{
		{Title: "Results", Tables: []*Table{{
			Caption: "Means of 5 % & more", Labels: []string{"w", "|C|"}, Values: []Head{{Text: "LCE", Arrow: "↓"}, {Text: "ACC", Arrow: "↑"}},
			Blocks: []Block{{"cifar10 · resnet", []Row{
				{[]string{"64", "32"}, []Cell{{Text: ".0059±.0002", Mark: metrics.Best}, {Text: ".889±.001", Mark: metrics.Second}}, true},
				{[]string{"16", "32"}, []Cell{{Text: "–"}, {Text: "−.0014"}}, false},
			}}},
		}}},
		{Title: "A note", Note: "alone"},
	},
	Failures: []string{"vq: <bad>"},
	Facts:    []Fact{{"Seeds", "1, 2"}},
}

func TestMarkdown(t *testing.T) {
	var b strings.Builder
	if err := document.WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`| data | w | \|C\| | LCE ↓ | ACC ↑ |`,
		"|---|---|---|--:|--:|",
		"| cifar10 · resnet | 64 | 32 | **.0059±.0002** | <u>.889±.001</u> |",
		"|  | 16 | 32 | – | −.0014 |",
		"- Seeds: 1, 2",
	} {
		if !strings.Contains(b.String(), line+"\n") {
			t.Errorf("no line %q in\n%s", line, b.String())
		}
	}
}

func TestLaTeX(t *testing.T) {
	var b strings.Builder
	if err := document.WriteLaTeX(&b); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`\caption{Means of 5 \% \& more}`,
		`Data & w & $|\mathcal{C}|$ & LCE$\,\downarrow$ & ACC$\,\uparrow$ \\`,
		`\multirow{2}{*}{\rotatebox{90}{\texttt{cifar10 $\cdot$ resnet}}}`,
		` & \cellcolor{blue!10}64 & \cellcolor{blue!10}32 & \cellcolor{blue!10}$\mathbf{.0059\pm .0002}$ & \cellcolor{blue!10}$\underline{.889\pm .001}$ \\`,
		` & 16 & 32 & -- & $-.0014$ \\`,
	} {
		if !strings.Contains(b.String(), line+"\n") {
			t.Errorf("no line %s in\n%s", line, b.String())
		}
	}
	for text, want := range map[string]string{"anchored head 3, gated 2": "anchored head 3, gated 2", "1.2e-05": "1.2e-05", "+2.3 %": `$+2.3 \%$`} {
		if got := (Cell{Text: text}).latex(); got != want {
			t.Errorf("the cell %q is %s, want %s", text, got, want)
		}
	}
	if begin, end := strings.Count(b.String(), `\begin{`), strings.Count(b.String(), `\end{`); begin != end || begin != 2 {
		t.Errorf("%d environments begin, %d end", begin, end)
	}
}

func TestHTML(t *testing.T) {
	var b strings.Builder
	if err := document.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"<h1>Study &lt;main&gt;</h1>", "<li>vq: &lt;bad&gt;</li>", `<th scope="rowgroup" colspan="4">cifar10 · resnet</th>`, `<th scope="row" class="label">64</th>`, "<b>.0059±.0002</b>", `<td class="second">.889±.001</td>`} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("no %s in\n%s", part, b.String())
		}
	}
}

// A table whose blocks have no names has no column for them, in any format.
func TestTableWithoutBlockNames(t *testing.T) {
	d := Document{Sections: []*Section{{Tables: []*Table{{
		Labels: []string{"Method"}, Values: []Head{{Text: "NLL", Arrow: "↓"}},
		Blocks: []Block{{"", []Row{{[]string{"VQ"}, []Cell{{Text: ".449"}}, false}}}},
	}}}}}
	for format, c := range map[string]struct {
		write func(io.Writer) error
		want  []string
	}{
		"Markdown": {d.WriteMarkdown, []string{"\n| Method | NLL ↓ |\n|---|--:|\n| VQ | .449 |\n"}},
		"LaTeX":    {d.WriteLaTeX, []string{"{cc}", "\nMethod & NLL", "\nVQ & $.449$"}},
		"HTML":     {d.WriteHTML, []string{`<tr><th scope="col" class="label">Method</th>`, `<tr data-series="VQ"><th scope="row" class="label">VQ</th>`}},
	} {
		var b strings.Builder
		if err := c.write(&b); err != nil {
			t.Fatal(err)
		}
		for _, part := range c.want {
			if !strings.Contains(b.String(), part) {
				t.Errorf("%s: no %q in\n%s", format, part, b.String())
			}
		}
	}
}

// kinds are one of each kind, with gaps where data may have them.
func kinds() map[string]*Figure {
	nan := math.NaN()
	series := []Series{
		{Name: "VQ", Ours: true, X: []float64{1, 10, 100}, Mean: []float64{.3, .2, .1}, SD: []float64{.01, .01, .01}},
		{Name: "NC", Style: 1, X: []float64{1, 10, 100}, Mean: []float64{.4, nan, .2}, SD: []float64{.01, nan, 0}},
		{Name: "TS", Style: 2, X: []float64{1, 10}, Mean: []float64{.3, .2}, SD: []float64{.1, .1}, Seeds: [][]float64{{.2, .4}, {.1, .3}}},
		{Name: "measured", Style: 3, Kind: Marks, X: []float64{1, 10}, Mean: []float64{.3, .2}, Low: []float64{.25, nan}, High: []float64{.35, nan}},
		{Name: "expected", Kind: Prediction, X: []float64{1, 100}, Mean: []float64{.3, .1}},
		{Name: "floor", Kind: Floor, X: []float64{1, 100}, Mean: []float64{.05, .04}},
	}
	out := map[string]*Figure{}
	out["bars"] = Bars([]BarPanel{{Title: "LCE", Bars: []Bar{{Name: "VQ", Winner: true, Mean: .1, SD: .01, Floor: .05}, {Name: "NC", Mean: nan, SD: nan, Floor: nan}, {Name: "TS", Mean: .2, SD: .1, Seeds: []float64{.1, .3}, Floor: nan}}}})
	out["lines"] = Lines([]LinePanel{{Title: "Q2", X: "ESS", Y: "LCE", Log: true, Series: series}, {Title: "size", X: "%", Y: "NLL", Log: true, Places: map[float64]string{1: "1", 100: "all"}, Series: series, LogY: true}})
	out["diagrams"] = Diagrams([]Diagram{{"VQ", &metrics.Curve{Confidence: []float64{nan, .9}, Frequency: []float64{nan, 1}, Low: []float64{nan, .5}, High: []float64{nan, 1}, Count: []int{0, 5}}}})
	var shown []Shown
	for _, rows := range []int{1, 500} { // of one row the curve is a point
		rng := rand.New(rand.NewPCG(1, uint64(rows)))
		logProbs, _, labels := overconfident(rows, 3, rng)
		portrait, err := diagnosis.NewPortrait(logProbs, labels, metrics.Settings{}, rng)
		if err != nil {
			panic(err)
		}
		shown = append(shown, Shown{Name: fmt.Sprint(rows), Portrait: portrait})
	}
	out["isotonic"] = isotonic(shown)
	profile := metrics.Profile{LCE: []float64{.1, .05}, At: []float64{0, 30}, Count: []int{9, 9}, Floor: []float64{.02, .01}}
	out["profiles"] = Profiles([]ProfilePanel{{"own", []ProfileLine{{"VQ", true, 0, []metrics.Profile{profile, profile}}, {"NC", false, 1, []metrics.Profile{profile}}}}})
	return out
}

// TestLegendNamesTheSeriesOfEveryPanel: once each, whichever panels have them.
func TestLegendNamesTheSeriesOfEveryPanel(t *testing.T) {
	at := []float64{1, 2}
	measured := Series{Name: "measured", X: at, Mean: at}
	f := Lines([]LinePanel{
		{Title: "error", X: "m", Y: "NLL", Series: []Series{measured}},
		{Title: "time", X: "m", Y: "seconds", Series: []Series{measured, {Name: "expected", Kind: Prediction, X: at, Mean: at}}},
	})
	svg, err := f.Render("svg")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"measured", "expected"} {
		if n := bytes.Count(svg, []byte(">"+name+"</text>")); n != 1 {
			t.Errorf("the legend has %q %d times", name, n)
		}
	}
}

// TestFigures: every kind is drawn in every format, and twice the same.
func TestFigures(t *testing.T) {
	again := kinds()
	for name, f := range kinds() {
		for format, magic := range map[string]string{"svg": "<svg", "png": "\x89PNG", "pdf": "%PDF"} {
			a, err := f.Render(format)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !bytes.Contains(a, []byte(magic)) || len(a) < 500 {
				t.Errorf("%s.%s: %d bytes", name, format, len(a))
			}
			if bytes.Contains(a, []byte("NaN")) {
				t.Errorf("%s.%s holds a NaN", name, format)
			}
			if b, _ := again[name].Render(format); !bytes.Equal(a, b) {
				t.Errorf("%s.%s differs from drawing to drawing", name, format)
			}
		}
		page, err := f.Inline()
		if err != nil {
			t.Fatal(err)
		}
		if text := string(page); strings.ContainsAny(text, "\ue000\ue001\ue002") || strings.Count(text, "<g") != strings.Count(text, "</g>") {
			t.Errorf("%s: notes are left in the page, or groups open", name)
		} else if !strings.Contains(text, `<title>`) {
			t.Errorf("%s: no point tells its value", name)
		}
	}
}
