package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"

	"calibra/data"
	"calibra/experiments/diagnosis"
	"calibra/experiments/metrics"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot/plotter"
)

//go:embed diagnosis.html.tmpl
var mapPanel string

//go:embed diagnosis.css
var mapStyle string

//go:embed diagnosis.js
var mapScript string

var mapTemplate = template.Must(template.New("map").Parse(mapPanel))

// mapView is what the template draws.
type mapView struct {
	Key         []mapMark
	Planes      []mapPlane
	Alternative string
	Data        mapData
}

// Style and Script are of the page.
func (*mapView) Style() template.CSS { return template.CSS(mapStyle) }
func (*mapView) Script() template.JS { return template.JS(mapScript) }

// mapData is what the script knows.
type mapData struct {
	Places []placeData `json:"places"` // of the map, then the regions
	Region int         `json:"region"` // the place of the first of them
	First  int         `json:"first"`  // to be shown, −1 for none
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
	mapGap  = .1   // beyond which a colour is stronger
)

// gapClass is the colour of a gap: grey within chance.
func gapClass(r diagnosis.Region) string {
	switch {
	case !r.BeyondChance:
		return "g2"
	case r.Gap < -mapGap:
		return "g0"
	case r.Gap < 0:
		return "g1"
	case r.Gap < mapGap:
		return "g3"
	}
	return "g4"
}

func newMapView(d *diagnosis.Diagnosis, m *diagnosis.Map) *mapView {
	v := &mapView{Data: mapData{Region: len(m.Places), First: -1}, Key: []mapMark{
		{Class: "g4", Text: "claims more than .10 too much"}, {Class: "g3", Text: "claims too much"}, {Class: "g2", Text: "within chance"},
		{Class: "g1", Text: "claims too little"}, {Class: "g0", Text: "more than .10 too little"}}}
	tell := func(name string, p diagnosis.Place, r diagnosis.Region) {
		chance := "within chance"
		if r.BeyondChance {
			chance = "p " + metrics.Fixed(r.P, 3)
		}
		v.add(fmt.Sprintf("%s, %d rows, confidence less accuracy %s, %s", name, len(p.Rows), gapText(p.Gap), chance), p)
	}
	for k, p := range m.Places {
		tell("Place", p, d.Places[k])
	}
	for k, p := range m.Regions {
		tell(fmt.Sprintf("Region %d: %s", k+1, d.Regions[k].Describe), p, d.Regions[k])
	}
	if len(m.Regions) > 0 {
		v.Data.First = len(m.Places)
	}
	v.Planes = data.Each(m.Planes, func(p diagnosis.Plane) mapPlane { return v.plane(d, m, p) })
	wrong := 0
	for _, r := range d.Regions {
		if r.Named {
			wrong++
		}
	}
	v.Alternative = fmt.Sprintf("%d places and %d wrong regions; the tables below have their numbers", len(m.Places), wrong)
	return v
}

// plane marks the rows, places and wrong regions in two directions.
func (v *mapView) plane(d *diagnosis.Diagnosis, m *diagnosis.Map, p diagnosis.Plane) mapPlane {
	plane := mapPlane{Name: p.Name, X: p.Axes[0], Y: p.Axes[1]}
	for i := 0; i < d.Rows; i += (d.Rows + mapRows - 1) / mapRows {
		plane.Rows = append(plane.Rows, markAt(p.At, []int{i}))
	}
	for k, place := range slices.Concat(m.Places, m.Regions) {
		mark := markAt(p.At, place.Rows)
		mark.Number, mark.Text = k, v.Data.Places[k].Text
		mark.R = round3(6 + 60*math.Sqrt(float64(len(place.Rows))/float64(d.Rows)))
		region := k - len(m.Places)
		switch {
		case region < 0:
			mark.Class = gapClass(d.Places[k])
			plane.Places = append(plane.Places, mark)
		case d.Regions[region].Named:
			mark.Label = strconv.Itoa(region + 1)
			plane.Regions = append(plane.Regions, mark)
		}
	}
	return plane
}

func (v *mapView) add(text string, p diagnosis.Place) {
	data := placeData{Text: text, Near: p.Near, Bins: [][5]float64{}}
	for k, n := range p.Top.Count {
		if n > 0 {
			data.Bins = append(data.Bins, [5]float64{round3(p.Top.Confidence[k]), round3(p.Top.Frequency[k]), float64(n), round3(p.Top.Low[k]), round3(p.Top.High[k])})
		}
	}
	v.Data.Places = append(v.Data.Places, data)
}

// markAt is the mean of rows on the plane of 640×520 points.
func markAt(at *mat.Dense, rows []int) (m mapMark) {
	middle := middleOf(at, rows)
	place := func(x, middle, half float64) float64 { return round3(middle + half*max(-1, min(1, x/mapEdge))) }
	m.X, m.Y = place(middle.X, 330, 295), place(-middle.Y, 248, 236)
	return m
}

// middleOf is the mean of rows on a plane.
func middleOf(at *mat.Dense, rows []int) (middle plotter.XY) {
	for _, i := range rows {
		middle.X += at.At(i, 0) / float64(len(rows))
		middle.Y += at.At(i, 1) / float64(len(rows))
	}
	return middle
}

func round3(x float64) float64 { return math.Round(1000*x) / 1000 }
