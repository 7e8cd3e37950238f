package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strconv"
	"strings"

	"calibra/experiments/metrics"

	"gonum.org/v1/gonum/mat"
)

//go:embed diagnosis.html.tmpl
var mapPanel string

var mapTemplate = template.Must(template.New("map").Parse(mapPanel))

func minus(s string) string { return strings.Replace(s, "-", "−", 1) }

func thousandths(x float64) string { return minus(strconv.FormatFloat(x, 'f', 3, 64)) }

// gapText is a gap with its sign.
func gapText(x float64) string {
	if math.Abs(x) < .0005 {
		return "0.000"
	}
	return minus(fmt.Sprintf("%+.3f", x))
}

// WriteDiagnosis writes a diagnosis as one page that needs nothing else; head says where it
// comes from. The map is of the rows that it was made of.
func WriteDiagnosis(w io.Writer, title string, head []Fact, d *metrics.Diagnosis, m *metrics.Map) error {
	panel, err := newMapView(d, m).html()
	if err != nil {
		return fmt.Errorf("report: write the map: %w", err)
	}
	said := func(c *int) string {
		switch {
		case c == nil:
			return "top"
		case d.ClassNames != nil:
			return d.ClassNames[*c]
		}
		return strconv.Itoa(*c)
	}
	table := func(caption string, regions []metrics.Region, latent bool) *Table {
		t := &Table{Caption: caption, Labels: []string{"#", "where"}, Values: []Head{{Text: "called"}, {Text: "rows"}, {Text: "class"}, {Text: "said"}, {Text: "was"}, {Text: "gap"},
			{Text: "interval"}, {Text: "p"}, {Text: "detectable"}, {Text: "saves, nats"}, {Text: "accuracy"}}}
		if latent {
			t.Values = append(t.Values, Head{Text: "rows nearest its centre"})
		}
		var b Block
		for k, r := range regions {
			called := Cell{Text: "–"}
			if r.Wrong {
				called = Cell{Text: "wrong", Mark: metrics.Best} // in bold
			}
			row := Row{Labels: []string{strconv.Itoa(k + 1), r.Describe}}
			row.Cells = append(row.Cells, called)
			for _, text := range []string{strconv.Itoa(r.Size), said(r.Class), thousandths(r.Confidence), thousandths(r.Frequency), gapText(r.Gap),
				gapText(r.Low) + " to " + gapText(r.High), thousandths(r.P), thousandths(r.Detectable), metrics.Nats(r.Saved), thousandths(r.Accuracy)} {
				row.Cells = append(row.Cells, Cell{Text: text})
			}
			if latent {
				row.Cells = append(row.Cells, Cell{Text: strings.Trim(strings.Join(strings.Fields(fmt.Sprint(r.Prototype)), ", "), "[]")})
			}
			b.Rows = append(b.Rows, row)
		}
		t.Blocks = []Block{b}
		return t
	}
	advice := &Table{Caption: "What corrections would save, on rows that they were not fitted to", Labels: []string{"correction"},
		Values: []Head{{Text: "nats a row"}, {Text: "at least"}, {Text: "p"}, {Text: "command"}}, Blocks: []Block{{}}}
	for _, a := range d.Advice {
		if a.Correction != metrics.NoError {
			name := map[metrics.Kind]string{metrics.GlobalError: "of the predictions alone", metrics.BothErrors: "by the latent space too"}[a.Correction]
			advice.Blocks[0].Rows = append(advice.Blocks[0].Rows, Row{Labels: []string{name}, Cells: []Cell{
				{Text: metrics.Nats(a.Saves.Value)}, {Text: metrics.Nats(a.Saves.Low)}, {Text: P(a.Saves.P)}, {Text: a.Command}}})
		}
	}
	sections := []*Section{
		{Title: "What to do", Tables: []*Table{advice}},
		{Title: "Map", Note: "Each circle is rows near each other: its colour is how much their confidence exceeds their accuracy, its area how many they are. Rings are the regions of the table below.", Panel: panel},
	}
	alike := ""
	if d.Kind == metrics.GlobalError {
		alike = "These regions are no worse than the rest: a correction of the predictions alone leaves none of them wrong. "
	}
	if len(d.Regions) > 0 {
		sections = append(sections, &Section{Title: "Regions", Note: alike + "Those called wrong first, the one before whose correction would save most in all. Every row lies in a region that was found without it. " +
			"The gap is what was said less what was; intervals hold for all gaps of this page at once, p is adjusted for all of them, and a gap beyond “detectable” is called wrong.", Tables: []*Table{table("Regions of the latent space", d.Regions, true)}})
	}
	sections = append(sections,
		&Section{Title: "Classes", Tables: []*Table{table("All rows: the probability of each class, and that of the top class", d.Classes, false)}},
		&Section{Title: "Confidence", Tables: []*Table{table("Tenths of the rows by the confidence of their top class", d.Confidence, false)}})
	if d.Groups != nil {
		sections = append(sections, &Section{Title: "Groups", Tables: []*Table{table("The groups of the file, each with the class that is worst off in it", d.Groups, false)}})
	}
	verdict := Statement{Lines: []string{sentence(d.Verdict), sentence(d.Advice[0].Text)}}
	if c := d.Advice[0].Command; c != "" {
		verdict.Commands = []string{c}
	}
	page := Document{Title: title, Verdict: []Statement{verdict}, Head: head, Sections: sections, Files: []string{"diagnosis.json"}, Facts: []Fact{
		{"Rows", strconv.Itoa(d.Rows)}, {"Classes", strconv.Itoa(d.NumClasses)}, {"Level", fmt.Sprintf("%g for everything tested at once", d.Level)},
		{"Redraws", strconv.Itoa(d.Redraws)}, {"Called wrong", fmt.Sprintf("beyond %.2f standard deviations by the predictions", d.Critical)},
		{"Intervals", fmt.Sprintf("%.2f standard deviations of the residuals", d.CriticalInterval)},
		{"Corrections", d.Recoverable.Families[0] + ", by cross-fitting"}}}
	return page.WriteHTML(w)
}

// sentence begins with a capital and ends with a full stop.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

// mapView is what the template draws.
type mapView struct {
	Key         []mapMark
	Planes      []mapPlane
	Alternative string
	Data        []placeData // of every place, then of every region
	First       int         // to be shown, −1 for none
}

type mapPlane struct {
	Name, X, Y            string
	Rows, Places, Regions []mapMark
}

// mapMark is a circle.
type mapMark struct {
	X, Y, R     float64
	Class, Text string
	Label       string
	Number      int
}

// placeData is what the page shows of a place: bins are confidence, frequency, rows, and the interval of the frequency.
type placeData struct {
	Text string       `json:"text"`
	Bins [][5]float64 `json:"bins"`
	Near []int        `json:"near"`
}

const (
	mapRows = 1500 // drawn at most, evenly spaced in the file
	mapEdge = 3.2  // standard deviations, beyond which rows stand at the edge
	mapGap  = .05  // steps of colour: at half of it, and at twice it
)

// gapClass is the colour of a gap.
func gapClass(gap float64) string {
	for k, below := range []float64{-2 * mapGap, -mapGap / 2, mapGap / 2, 2 * mapGap} {
		if gap < below {
			return "g" + strconv.Itoa(k)
		}
	}
	return "g4"
}

func newMapView(d *metrics.Diagnosis, m *metrics.Map) *mapView {
	v := &mapView{First: -1, Key: []mapMark{
		{Class: "g4", Text: "claims more than .10 too much"}, {Class: "g3", Text: "more than .025 too much"}, {Class: "g2", Text: "within .025"},
		{Class: "g1", Text: "more than .025 too little"}, {Class: "g0", Text: "more than .10 too little"}}}
	tell := func(name string, p metrics.Place) string {
		return fmt.Sprintf("%s, %d rows, confidence less accuracy %s", name, len(p.Rows), gapText(p.Gap))
	}
	for _, p := range m.Places {
		v.add(tell("Place", p), p)
	}
	for k, p := range m.Regions {
		v.add(tell(fmt.Sprintf("Region %d: %s", k+1, d.Regions[k].Describe), p), p)
	}
	if len(m.Regions) > 0 {
		v.First = len(m.Places)
	}
	for _, p := range m.Planes {
		plane := mapPlane{Name: p.Name, X: p.Axes[0], Y: p.Axes[1]}
		for i := 0; i < d.Rows; i += (d.Rows + mapRows - 1) / mapRows {
			plane.Rows = append(plane.Rows, markAt(p.At, []int{i}))
		}
		for k, place := range append(append([]metrics.Place{}, m.Places...), m.Regions...) {
			mark := markAt(p.At, place.Rows)
			mark.Number, mark.Text, mark.Class = k, v.Data[k].Text, gapClass(place.Gap)
			mark.R = round3(6 + 60*math.Sqrt(float64(len(place.Rows))/float64(d.Rows)))
			if region := k - len(m.Places); region >= 0 {
				if !d.Regions[region].Wrong {
					continue
				}
				mark.Label = strconv.Itoa(region + 1)
				plane.Regions = append(plane.Regions, mark)
				continue
			}
			plane.Places = append(plane.Places, mark)
		}
		v.Planes = append(v.Planes, plane)
	}
	wrong := 0
	for _, r := range d.Regions {
		if r.Wrong {
			wrong++
		}
	}
	v.Alternative = fmt.Sprintf("%d places and %d wrong regions; the tables below have their numbers", len(m.Places), wrong)
	return v
}

func (v *mapView) add(text string, p metrics.Place) {
	data := placeData{Text: text, Near: p.Near, Bins: [][5]float64{}}
	for k, n := range p.Top.Count {
		if n > 0 {
			data.Bins = append(data.Bins, [5]float64{round3(p.Top.Confidence[k]), round3(p.Top.Frequency[k]), float64(n), round3(p.Top.Low[k]), round3(p.Top.High[k])})
		}
	}
	v.Data = append(v.Data, data)
}

func (v *mapView) html() (template.HTML, error) {
	var b bytes.Buffer
	err := mapTemplate.Execute(&b, v)
	return template.HTML(b.String()), err
}

// markAt is the mean of rows on the plane of 640×520 points.
func markAt(at *mat.Dense, rows []int) (m mapMark) {
	for _, i := range rows {
		m.X += at.At(i, 0) / float64(len(rows))
		m.Y += at.At(i, 1) / float64(len(rows))
	}
	place := func(x, middle, half float64) float64 { return round3(middle + half*max(-1, min(1, x/mapEdge))) }
	m.X, m.Y = place(m.X, 330, 295), place(-m.Y, 248, 236)
	return m
}

func round3(x float64) float64 { return math.Round(1000*x) / 1000 }
