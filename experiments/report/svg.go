package report

import (
	"bytes"
	"fmt"
	"html"
	"image"
	"image/color"
	"io"
	"math"
	"strconv"
	"strings"

	"calibra/data"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// fontStack are fonts as wide as Liberation Sans, which figures are laid out by, and what any system has.
const fontStack = "Liberation Sans,Arimo,Arial,Helvetica,sans-serif"

// svg is a canvas that becomes an SVG. Each text says how wide it was laid out, so that in another font too none is cut
// or touches its neighbour.
type svg struct {
	out    bytes.Buffer
	w, h   vg.Length
	states []svgState
	says   string  // in place of it, "" for nothing
	scale  float64 // of the SVG to what is drawn; 1 on a screen, where it follows the reader's light or dark
}

// svgState is what a canvas pushes and pops: colour, line and affine map (x, y) → (a x + c y + e, b x + d y + f).
type svgState struct {
	colour           color.NRGBA
	width            vg.Length
	dashes           []vg.Length
	offset           vg.Length
	a, b, c, d, e, f float64
}

// newSVG is an empty canvas.
func newSVG(w, h vg.Length) *svg {
	s := &svg{w: w, h: h, scale: 1, states: []svgState{{a: 1, d: -1, f: h.Points()}}}
	vg.Initialize(s)
	return s
}

func (s *svg) now() *svgState { return &s.states[len(s.states)-1] }

func (s *svg) Size() (w, h vg.Length) { return s.w, s.h }

func (s *svg) SetLineWidth(w vg.Length) { s.now().width = w }

func (s *svg) SetLineDash(pattern []vg.Length, offset vg.Length) {
	s.now().dashes, s.now().offset = pattern, offset
}

func (s *svg) SetColor(c color.Color) {
	if c == nil {
		c = color.Black
	}
	s.now().colour = color.NRGBAModel.Convert(c).(color.NRGBA)
}

func (s *svg) Push() { s.states = append(s.states, *s.now()) }
func (s *svg) Pop()  { s.states = s.states[:len(s.states)-1] }

func (s *svg) Rotate(radians float64) {
	sin, cos := math.Sincos(radians)
	m := s.now()
	m.a, m.b, m.c, m.d = m.a*cos+m.c*sin, m.b*cos+m.d*sin, m.c*cos-m.a*sin, m.d*cos-m.b*sin
}

func (s *svg) Translate(by vg.Point) { s.now().e, s.now().f = s.at(by) }

func (s *svg) Scale(x, y float64) {
	m := s.now()
	m.a, m.b, m.c, m.d = m.a*x, m.b*x, m.c*y, m.d*y
}

// at is where a point lies in the SVG, whose y grows downwards.
func (s *svg) at(p vg.Point) (x, y float64) {
	m, px, py := s.now(), p.X.Points(), p.Y.Points()
	return m.a*px + m.c*py + m.e, m.b*px + m.d*py + m.f
}

// places writes numbers to a hundredth of a point.
func places(numbers ...float64) string {
	var b strings.Builder
	for i, x := range numbers {
		text := strconv.FormatFloat(math.Round(x*100)/100+0, 'f', -1, 64)
		if i > 0 && !strings.HasPrefix(text, "-") {
			b.WriteByte(' ')
		}
		b.WriteString(text)
	}
	return b.String()
}

func hex(c color.NRGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// paint is an attribute of a colour.
func paint(name string, c color.NRGBA) string {
	text := fmt.Sprintf(` %s="%s"`, name, hex(c))
	if c.A < 0xff {
		text += fmt.Sprintf(` %s-opacity="%s"`, name, places(float64(c.A)/0xff))
	}
	return text
}

func (s *svg) Stroke(p vg.Path) {
	m := s.now()
	if m.width <= 0 {
		return
	}
	fmt.Fprintf(&s.out, `<path d="%s"%s stroke-width="%s"`, s.path(p), paint("stroke", m.colour), places(m.width.Points()))
	if len(m.dashes) > 0 {
		fmt.Fprintf(&s.out, ` stroke-dasharray="%s"`, places(data.Each(m.dashes, vg.Length.Points)...))
		if m.offset != 0 {
			fmt.Fprintf(&s.out, ` stroke-dashoffset="%s"`, places(m.offset.Points()))
		}
	}
	s.out.WriteString("/>\n")
}

func (s *svg) Fill(p vg.Path) {
	fmt.Fprintf(&s.out, "<path d=\"%s\"%s/>\n", s.path(p), paint("fill", s.now().colour))
}

func (s *svg) path(p vg.Path) string {
	var b strings.Builder
	for _, part := range p {
		switch x, y := s.at(part.Pos); part.Type {
		case vg.MoveComp:
			b.WriteString("M" + places(x, y))
		case vg.LineComp:
			b.WriteString("L" + places(x, y))
		case vg.CurveComp:
			b.WriteString(map[int]string{1: "Q", 2: "C"}[len(part.Control)])
			var numbers []float64
			for _, c := range part.Control {
				cx, cy := s.at(c)
				numbers = append(numbers, cx, cy)
			}
			b.WriteString(places(append(numbers, x, y)...))
		case vg.ArcComp:
			s.arc(&b, part)
		case vg.CloseComp:
			b.WriteByte('Z')
		}
	}
	return b.String()
}

// arc joins its beginning by a line, and goes on in pieces of less than half a circle.
func (s *svg) arc(b *strings.Builder, part vg.PathComp) {
	const pieces = 3
	on := func(k float64) (x, y float64) {
		sin, cos := math.Sincos(part.Start + part.Angle*k/pieces)
		return s.at(part.Pos.Add(vg.Point{X: part.Radius * vg.Length(cos), Y: part.Radius * vg.Length(sin)}))
	}
	command := "L"
	if b.Len() == 0 {
		command = "M"
	}
	b.WriteString(command + places(on(0)))
	m := s.now()
	r := part.Radius.Points() * math.Hypot(m.a, m.b)
	sweep := "0"
	if part.Angle*(m.a*m.d-m.b*m.c) > 0 {
		sweep = "1"
	}
	for k := 1.; k <= pieces; k++ {
		x, y := on(k)
		fmt.Fprintf(b, "A%s 0 0 %s %s", places(r, r), sweep, places(x, y))
	}
}

func (s *svg) FillString(f font.Face, at vg.Point, text string) {
	x, y := s.at(at)
	m := s.now()
	fmt.Fprintf(&s.out, `<text x="%s" y="%s"%s`, places(x), places(y), paint("fill", m.colour))
	if f.Font.Size != letters {
		fmt.Fprintf(&s.out, ` font-size="%s"`, places(f.Font.Size.Points()))
	}
	if f.Font.Weight == stdfont.WeightBold {
		s.out.WriteString(` font-weight="bold"`)
	}
	if strings.Contains(strings.TrimSpace(text), " ") || len(text) > 3 {
		fmt.Fprintf(&s.out, ` textLength="%s" lengthAdjust="spacingAndGlyphs"`, places(f.Width(text).Points()))
	}
	if turn := math.Atan2(m.b, m.a) * 180 / math.Pi; turn != 0 {
		fmt.Fprintf(&s.out, ` transform="rotate(%s)"`, places(turn, x, y))
	}
	fmt.Fprintf(&s.out, ">%s</text>\n", html.EscapeString(text))
}

func (s *svg) DrawImage(vg.Rectangle, image.Image) { panic("report: a figure has no images") }

// element is the SVG as a part of a page.
func (s *svg) element() []byte { return s.write("", "") }

// WriteTo writes the SVG as a file of its own.
func (s *svg) WriteTo(w io.Writer) (int64, error) {
	style := ""
	if s.scale == 1 {
		style = "<style>" + darkStyle("") + "</style>\n"
	}
	if title, rest, _ := strings.Cut(s.says, ". "); title != "" {
		style = fmt.Sprintf("<title>%s</title><desc>%s</desc>\n", html.EscapeString(title), html.EscapeString(rest)) + style
	}
	n, err := w.Write(s.write(` xmlns="http://www.w3.org/2000/svg" role="img"`, style))
	return int64(n), err
}

func (s *svg) write(attributes, style string) []byte {
	var b bytes.Buffer
	w, h := s.w.Points(), s.h.Points()
	fmt.Fprintf(&b, "<svg%s width=\"%spt\" height=\"%spt\" viewBox=\"0 0 %s\" fill=\"none\" font-family=\"%s\" font-size=\"%s\">\n%s",
		attributes, places(w*s.scale), places(h*s.scale), places(w, h), fontStack, places(letters.Points()), style)
	b.Write(s.out.Bytes())
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// live is an svg in a page: series can be hidden, and points tell their values.
type live struct{ *svg }

// liveOf is the live canvas that c is a part of, false if it is of another.
func liveOf(c draw.Canvas) (live, bool) {
	for {
		switch canvas := c.Canvas.(type) {
		case live:
			return canvas, true
		case draw.Canvas:
			c = canvas
		default:
			return live{}, false
		}
	}
}

// begin begins the group of a series, which end ends.
func (l live) begin(series string) {
	fmt.Fprintf(&l.out, "<g data-series=\"%s\">\n", html.EscapeString(series))
}

func (l live) end() { l.out.WriteString("</g>\n") }

// point is a disc, not seen, that tells text.
func (l live) point(at vg.Point, text string) {
	x, y := l.at(at)
	fmt.Fprintf(&l.out, "<circle class=\"point\" cx=\"%s\" cy=\"%s\" r=\"6\" fill=\"#000\" fill-opacity=\"0\"><title>%s</title></circle>\n", places(x), places(y), html.EscapeString(text))
}

var _ vg.CanvasSizer = (*svg)(nil)
