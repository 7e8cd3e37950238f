package report

import (
	_ "embed"
	"encoding/json"
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
var diagnosisPage string

var diagnosisTemplate = template.Must(template.New("diagnosis").Funcs(template.FuncMap{
	"class":  className,
	"number": func(x float64) string { return minus(strconv.FormatFloat(x, 'f', 3, 64)) },
	"signed": func(x float64) string { return minus(fmt.Sprintf("%+.3f", x)) },
	"nats":   func(x float64) string { return minus(fmt.Sprintf("%+.4f", x)) },
	"round":  func(x float64) string { return strconv.FormatFloat(math.Round(x), 'f', -1, 64) },
	"rows": func(rows []int) string {
		return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(rows)), ", "), "[]")
	},
	"rank": func(k int) int { return k + 1 },
}).Parse(diagnosisPage))

func minus(s string) string { return strings.Replace(s, "-", "−", 1) }

func className(c *int) string {
	if c == nil {
		return "top"
	}
	return strconv.Itoa(*c)
}

// mapRows is how many rows a map shows at most, evenly spaced in the file.
const mapRows = 4000

// WriteDiagnosis writes a diagnosis as one page that needs nothing else. The map is of the
// rows that it was made of.
func WriteDiagnosis(w io.Writer, title string, d *metrics.Diagnosis, m *metrics.Map) error {
	points, err := json.Marshal(mapPoints(d, m))
	if err != nil {
		return fmt.Errorf("report: write the map: %w", err)
	}
	type table struct {
		Name, Note string
		Rows       []metrics.Region
		Found      bool // in the latent space
	}
	tables := []table{
		{"Regions", "Regions of the latent space, the surest error first. Each was found on one half of the rows and tested on the other (half); a region may lie within another (in).", d.Regions, true},
		{"Classes", "All rows: the probability of each class, and that of the top class.", d.Classes, false},
		{"Confidence", "Tenths of the rows by the confidence of their top class.", d.Confidence, false},
	}
	if d.Groups != nil {
		tables = append(tables, table{"Groups", "The groups of the file, each with the class that is worst off in it.", d.Groups, false})
	}
	return diagnosisTemplate.Execute(w, map[string]any{
		"Title": title, "D": d, "Tables": tables, "Points": template.JS(points), "Percent": 100 * d.Level, "Separated": m.Separating != nil,
		"Wrong": len(d.Wrong()), "Shown": min(mapRows, d.Rows),
	})
}

// mapPoint is a row of the map: its number, its places in the two planes, and the ranks
// of the regions that it lies in.
type mapPoint struct {
	Row     int         `json:"i"`
	Planes  [][]float64 `json:"p"`
	Regions []int       `json:"r"`
}

func mapPoints(d *metrics.Diagnosis, m *metrics.Map) []mapPoint {
	in := make([][]int, d.Rows)
	for k, r := range d.Regions {
		for _, i := range r.Rows {
			in[i] = append(in[i], k)
		}
	}
	step := (d.Rows + mapRows - 1) / mapRows
	var points []mapPoint
	for i := 0; i < d.Rows; i += step {
		p := mapPoint{Row: i, Regions: in[i]}
		for _, plane := range []*mat.Dense{m.Principal, m.Separating} {
			if plane != nil {
				p.Planes = append(p.Planes, []float64{round3(plane.At(i, 0)), round3(plane.At(i, 1))})
			}
		}
		points = append(points, p)
	}
	return points
}

func round3(x float64) float64 { return math.Round(1000*x) / 1000 }
