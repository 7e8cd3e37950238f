package report

import (
	"cmp"
	"fmt"
	"image/color"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"calibra/data"
	"calibra/experiments/diagnosis"
	"calibra/experiments/verdict"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// answer is how a verdict's answer looks: each has a colour and a sign of its own, and the colours stay apart for
// colour-blind readers.
type answer struct {
	sign   string
	colour color.NRGBA
}

var answers = map[verdict.Say]answer{
	verdict.Use:        {"→", color.NRGBA{0x0b, 0x4f, 0xa8, 0xff}},
	verdict.Leave:      {"=", color.NRGBA{0x3d, 0x84, 0x0f, 0xff}},
	verdict.DoNotUse:   {"×", color.NRGBA{0x60, 0x05, 0x26, 0xff}},
	verdict.CannotTell: {"?", color.NRGBA{0x66, 0x66, 0x66, 0xff}},
	verdict.CheckRows:  {"!", color.NRGBA{0x5e, 0x4f, 0x1f, 0xff}},
}

// signs are the colours of the answers on a page.
func signs() (rules string) {
	for _, say := range slices.Sorted(maps.Keys(answers)) {
		c := answers[say].colour
		const rule = ".%[1]s{background:%[2]s;color:#fff}" +
			"@media screen and (prefers-color-scheme:dark){.%[1]s{background:%[3]s;color:%[4]s}}"
		rules += fmt.Sprintf(rule, Statement{Say: say}.Class(), hex(c), hex(dark(c)), hex(night))
	}
	return rules
}

// Names are those of classes and groups, nil where they have none.
type Names struct{ Classes, Groups []string }

func (n Names) class(k int) string { return Named("class", data.ClassName(n.Classes, k)) }
func (n Names) group(k int) string { return Named("group", data.ClassName(n.Groups, k)) }

// Named is the name of a class or group; a number says nothing by itself.
func Named(kind, name string) string {
	if _, err := strconv.Atoi(name); err == nil {
		return kind + " " + name
	}
	return name
}

// parting is a way to part the rows.
type parting struct {
	title string
	gaps  func(Shown) []diagnosis.Gap
	name  func(Names, int) string
}

var partings = []parting{
	{"Gaps by predicted class", func(s Shown) []diagnosis.Gap { return s.ByClass }, Names.class},
	{"Gaps by group", func(s Shown) []diagnosis.Gap { return s.ByGroup }, Names.group},
}

// furthest are the gaps of what is shown, those furthest beyond chance first.
func (p parting) furthest(s Shown) []diagnosis.Gap {
	return slices.SortedStableFunc(slices.Values(p.gaps(s)), func(a, b diagnosis.Gap) int {
		return cmp.Compare(math.Abs(b.Value)/b.Chance, math.Abs(a.Value)/a.Chance)
	})
}

// find is the gap of a part, 0 where no row is of it.
func (p parting) find(s Shown, part int) (found diagnosis.Gap) {
	if j := slices.IndexFunc(p.gaps(s), func(g diagnosis.Gap) bool { return g.Part == part }); j >= 0 {
		found = p.gaps(s)[j]
	}
	if math.IsNaN(found.Value) {
		found.Value = 0
	}
	return found
}

// Shares are those of the classes among the calibration and the test rows.
type Shares struct{ Calibration, Test []float64 }

// NewCard says what the verdict says: in words, and by the predictions before and, where something was fitted, after.
// It shows their reliability, and the gaps by predicted class and group or, where the classes changed, that before and
// their shares.
func NewCard(v *verdict.Verdict, shown []Shown, names Names, shares *Shares) *Drawing {
	var legend keys
	shifted := v.Cause == verdict.Shifted && shares != nil
	if shifted || v.Say == verdict.CheckRows { // and what a method makes of such rows says nothing
		shown = shown[:1]
	}
	points := points{head: []string{"part", "method", "x", "y", "low", "high", "rows"}}
	var plots []*chart
	for k, s := range shown {
		when := []string{"Before: ", "After: "}[k]
		if len(shown) == 1 {
			when = "Reliability of "
		}
		colour, _ := look(k, k == len(shown)-1)
		plots = append(plots, s.square(when+clippedName(s.Name), colour, &keys{}))
		s.record(&points)
	}
	caption := append(v.Text(), v.Commands...)
	if shifted {
		plots = append(plots, shares.plot(names, &legend))
	} else {
		for _, by := range partings {
			if p := by.plot(names, shown, &legend); p != nil {
				plots = append(plots, p)
			}
		}
		where := beyondChance(shown, names)
		caption = append(caption, where.Note)
		for _, t := range where.Tables {
			for _, r := range t.Blocks[0].Rows {
				text := r.Labels[0] + ":"
				for j, c := range r.Cells {
					text += " " + t.Values[j].Text + " " + c.Text + ","
				}
				caption = append(caption, strings.TrimSuffix(text, ",")+".")
			}
		}
	}
	if len(legend) == 1 { // which the title of the diagram names
		legend = nil
	}
	f := newGrid(plots, 4, cardCell, cardCell, legend, points)
	f.headline = newHeadline(v)
	return &Drawing{Name: "card", Figure: f, Caption: strings.Join(caption, " ")}
}

const (
	cardCell   = vg.Length(200)
	cardWidth  = vg.Length(900) // 1200 × 420 of a screen
	cardHeight = vg.Length(315)
)

// mostLines are of a panel of a card.
const mostLines = 8

// plot is the gaps of the parts; nil of none.
func (p parting) plot(names Names, shown []Shown, legend *keys) *chart {
	order := p.furthest(shown[0])
	if order == nil {
		return nil
	}
	all := len(order)
	order = order[:min(all, mostLines)]
	c := newLanes(data.Each(order, func(g diagnosis.Gap) string { return clippedName(p.name(names, g.Part)) }))
	var series []dotted
	for k, s := range shown {
		dots := data.Each(order, func(g diagnosis.Gap) dot {
			found := p.find(s, g.Part)
			says := fmt.Sprintf("%s, %s: %+.3f ± %.3f", p.name(names, g.Part), s.Name, found.Value, found.Chance)
			return dot{found.Value, found.Value - found.Chance, found.Value + found.Chance, !found.BeyondChance(), says}
		})
		series = append(series, dotted{s.Name, k == len(shown)-1, draw.CircleGlyph{}, dots})
	}
	c.X.Min, c.X.Max = -.01, .01 // at least, so that next to nothing looks so
	c.addDotted(series, legend)
	if c.Title.Text, c.X.Label.Text = p.title, "confidence − accuracy"; all > len(order) {
		c.Title.Text += fmt.Sprintf(", %d of %d", len(order), all)
	}
	c.aroundZero()
	return c
}

// plot is the shares of the classes, those that changed most first.
func (s *Shares) plot(names Names, legend *keys) *chart {
	order, nan := data.UpTo(len(s.Test)), math.NaN()
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(math.Abs(s.Test[b]-s.Calibration[b]), math.Abs(s.Test[a]-s.Calibration[a]))
	})
	order = order[:min(len(order), mostLines)]
	p := newLanes(data.Each(order, func(c int) string { return clippedName(names.class(c)) }))
	of := func(rows string, isTest bool, shares []float64) dotted {
		return dotted{rows, isTest, draw.CircleGlyph{}, data.Each(order, func(c int) dot {
			return dot{shares[c], nan, nan, false, fmt.Sprintf("%s, %s: %.3f", names.class(c), rows, shares[c])}
		})}
	}
	p.addDotted([]dotted{of("calibration rows", false, s.Calibration), of("test rows", true, s.Test)}, legend)
	p.Title.Text, p.X.Label.Text = "Class shares", "share of the rows"
	p.X.Min, p.X.Max = 0, 1.05*p.X.Max
	return p
}

// headline is the words of a card.
type headline struct {
	answer
	title    string
	lines    []string
	commands []string
}

func newHeadline(v *verdict.Verdict) *headline {
	title, rest, _ := strings.Cut(v.Sentence, ". ")
	h := &headline{answer: answers[v.Say], title: strings.TrimSuffix(title, ".") + ".", commands: v.Commands}
	if rest != "" {
		h.lines = append(h.lines, rest)
	}
	switch where := v.Where; {
	case where != "":
		h.lines = append(h.lines, strings.ToUpper(where[:1])+where[1:]+".")
	case len(v.Why) > 0:
		h.lines = append(h.lines, v.Why[0])
	}
	return h
}

const titleSize, signSize = vg.Length(17), vg.Length(26)

// texts are the lines of a headline, no wider than width, each with its style.
func (h *headline) texts(width vg.Length) (all []string, styles []draw.TextStyle) {
	add := func(style draw.TextStyle, texts ...string) {
		for _, text := range texts {
			for line := range strings.SplitSeq(wrapped(text, style, width), "\n") {
				all, styles = append(all, line), append(styles, style)
			}
		}
	}
	title, command := textStyle(titleSize), textStyle(letters)
	title.Font.Weight, command.Color = stdfont.WeightBold, ours
	add(title, h.title)
	add(textStyle(letters*1.1), h.lines...)
	add(command, h.commands...)
	return all, styles
}

func leading(style draw.TextStyle) vg.Length { return 1.4 * style.Font.Size }

// height is that of the lines with the white below them.
func (h *headline) height(width vg.Length) (height vg.Length) {
	_, styles := h.texts(width - signSize - 10)
	for _, style := range styles {
		height += leading(style)
	}
	return max(height, signSize) + 8
}

// draw writes the lines from the top of the canvas, the sign on their left.
func (h *headline) draw(c draw.Canvas) {
	middle := vg.Point{X: c.Min.X + signSize/2, Y: c.Max.Y - signSize/2}
	c.DrawGlyph(draw.GlyphStyle{Color: h.colour, Radius: signSize / 2, Shape: draw.CircleGlyph{}}, middle)
	sign := textStyle(titleSize)
	sign.Color, sign.XAlign, sign.Font.Weight = white, draw.XCenter, stdfont.WeightBold
	c.FillText(sign, middle, h.sign)
	all, styles := h.texts(c.Max.X - c.Min.X - signSize - 10)
	y := c.Max.Y
	for i, line := range all {
		y -= leading(styles[i])
		c.FillText(styles[i], vg.Point{X: c.Min.X + signSize + 10, Y: y + leading(styles[i])/2}, line)
	}
}
