package report

import (
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// key is an entry of a legend: what a series looks like, and its name.
type key struct {
	name       string
	thumbnails []plot.Thumbnailer
}

const (
	sampleWidth  = vg.Length(18) // of a series in a legend
	sampleHeight = vg.Length(9)
	lineHeight   = vg.Length(14)
	keyGap       = vg.Length(14) // between two keys in a line
)

// keys is a legend in which each name stands once.
type keys []key

func (k *keys) add(name string, thumbnails ...plot.Thumbnailer) {
	if !slices.ContainsFunc(*k, func(other key) bool { return other.name == name }) {
		*k = append(*k, key{name, thumbnails})
	}
}

// width is what the key takes with the white that follows.
func (k key) width() vg.Length {
	style, widest := textStyle(letters), vg.Length(0)
	for line := range strings.SplitSeq(k.name, "\n") {
		widest = max(widest, style.Width(line))
	}
	return sampleWidth + 5 + widest + keyGap
}

// flow puts keys into lines of a width; a name that is longer than one is broken.
func flow(all []key, width vg.Length) (lines [][]key) {
	var used vg.Length
	for _, k := range all {
		k.name = wrapped(k.name, textStyle(letters), width-sampleWidth-5)
		if lines == nil || used+k.width()-keyGap > width {
			lines, used = append(lines, nil), 0
		}
		lines[len(lines)-1], used = append(lines[len(lines)-1], k), used+k.width()
	}
	return lines
}

// heightOf is what the lines of a legend take below the plots.
func heightOf(lines [][]key) (height vg.Length) {
	for i, line := range lines {
		if i == 0 {
			height = 8
		}
		height += tallest(line)
	}
	return height
}

// tallest is the height of a line, that of the key of the most lines.
func tallest(line []key) (height vg.Length) {
	for _, k := range line {
		height = max(height, lineHeight*vg.Length(1+strings.Count(k.name, "\n")))
	}
	return height
}

// drawLegend draws the lines from the foot of the canvas upwards, the first above.
func drawLegend(c draw.Canvas, lines [][]key) {
	top := c.Min.Y
	for _, line := range lines {
		top += tallest(line)
	}
	for _, line := range lines {
		x := c.Min.X
		for _, k := range line {
			k.draw(c, x, top-lineHeight/2)
			x += k.width()
		}
		top -= tallest(line)
	}
}

// draw draws the key from x on, its first line about y.
func (k key) draw(c draw.Canvas, x, y vg.Length) {
	k.sample(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: x, Y: y - sampleHeight/2}, Max: vg.Point{X: x + sampleWidth, Y: y + sampleHeight/2}}})
	style := textStyle(letters)
	for i, text := range strings.Split(k.name, "\n") {
		c.FillText(style, vg.Point{X: x + sampleWidth + 5, Y: y - lineHeight*vg.Length(i)}, text)
	}
}

func (k key) sample(c draw.Canvas) {
	for _, t := range k.thumbnails {
		t.Thumbnail(&c)
	}
}
