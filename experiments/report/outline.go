package report

import (
	"image/color"

	"golang.org/x/image/font/sfnt"
	fixedpoint "golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// outlined is a canvas whose letters are filled outlines: they need no font, and every sign that the font has is drawn.
type outlined struct{ vg.Canvas }

// straight is a canvas that is told the shares of red, green and blue as they are: gonum/plot's PDF takes those that
// [color.Color] has, which are less by the opacity, for the colour itself, so that bands would be grey. Those of a
// color.RGBA are its fields.
type straight struct{ vg.Canvas }

func (s straight) SetColor(c color.Color) {
	if c != nil {
		c = color.RGBA(color.NRGBAModel.Convert(c).(color.NRGBA))
	}
	s.Canvas.SetColor(c)
}

// FillString fills the outlines of the letters, as far apart as [font.Face.Width] has them.
func (o outlined) FillString(f font.Face, at vg.Point, text string) {
	var (
		buffer sfnt.Buffer
		path   vg.Path
		before sfnt.GlyphIndex
		units  = fixedpoint.Int26_6(f.Face.UnitsPerEm()) // as whole numbers of the font
		scale  = f.Font.Size / vg.Points(float64(units))
		x      fixedpoint.Int26_6
	)
	place := func(p fixedpoint.Point26_6) vg.Point {
		return at.Add(vg.Point{X: vg.Points(float64(x+p.X)) * scale, Y: -vg.Points(float64(p.Y)) * scale})
	}
	for i, letter := range text {
		glyph, err := f.Face.GlyphIndex(&buffer, letter)
		if err != nil {
			continue
		}
		if i > 0 {
			if kern, err := f.Face.Kern(&buffer, before, glyph, units, 0); err == nil {
				x += kern
			}
		}
		segments, err := f.Face.LoadGlyph(&buffer, glyph, units, nil)
		if err != nil {
			continue
		}
		for _, s := range segments {
			switch s.Op {
			case sfnt.SegmentOpMoveTo:
				if len(path) > 0 {
					path.Close()
				}
				path.Move(place(s.Args[0]))
			case sfnt.SegmentOpLineTo:
				path.Line(place(s.Args[0]))
			case sfnt.SegmentOpQuadTo:
				path.QuadTo(place(s.Args[0]), place(s.Args[1]))
			case sfnt.SegmentOpCubeTo:
				path.CubeTo(place(s.Args[0]), place(s.Args[1]), place(s.Args[2]))
			}
		}
		if advance, err := f.Face.GlyphAdvance(&buffer, glyph, units, 0); err == nil {
			x += advance
		}
		before = glyph
	}
	if len(path) > 0 {
		path.Close()
		o.Fill(path)
	}
}
