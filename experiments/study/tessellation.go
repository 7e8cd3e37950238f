package study

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/report"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
)

// pixels is the side of a picture of a plane.
const pixels = 240

// shownRows is how many test rows a picture shows, evenly from all of the file,
// whose neighbours may be of one place or class.
const shownRows = 300

// tessellation shows how the latent space is divided: with two slots of one
// feature each, where all regions can be seen, and as the first seed's calibrator
// divides the plane of the first two principal components.
var tessellation = figures("The divided space",
	"Left, a toy: two slots of one feature each, the first two principal components, and four codewords, so that every index sequence (s(1), s(2)) is a rectangle of the plane; hue is the most frequent class of a region. Right, the calibrator itself on the plane through the mean of the features: hue is its top class, paler where it is less sure, darker lines where many slots change their codeword at once. Dots are test rows by their true class.",
	func(ctx context.Context, f *Findings, s *subject) ([]*report.Drawing, error) {
		c, res := f.firstVQ(s)
		if res == nil {
			return nil, nil
		}
		shop := newWorkshop(f.Store)
		shop.expect(c)
		p, err := shop.prepare(ctx, c)
		if err != nil {
			return nil, err
		}
		if p.Embed == nil || len(p.Embed.Variances) < 2 {
			return nil, nil
		}
		frame := newFrame(p)
		toy, err := frame.toy(ctx, p)
		if err != nil {
			return nil, err
		}
		model, _, err := c.Spec.Catalog.Load(f.Store.modelPath(c))
		if err != nil {
			return nil, err
		}
		plane, err := frame.plane(ctx, p, model)
		if err != nil {
			return nil, err
		}
		if res.Classes <= 16 {
			toy.Names = f.classNames(s, res.Classes)
		}
		return []*report.Drawing{s.drawing("plane", "The latent space of %s, divided.", report.Planes([]report.Plane{toy, plane}))}, nil
	})

// frame is the part of the plane of the first two components that pictures show.
type frame struct {
	xmin, xmax, ymin, ymax float64
	points                 []report.PlanePoint
}

// newFrame bounds the plane at three standard deviations of the calibration rows.
func newFrame(p *experiments.Prepared) frame {
	sx, sy := 3*math.Sqrt(p.Embed.Variances[0]), 3*math.Sqrt(p.Embed.Variances[1])
	return frame{xmin: -sx, xmax: sx, ymin: -sy, ymax: sy, points: data.Each(evenly(p.Source.Test.Len(), shownRows), func(i int) report.PlanePoint {
		return report.PlanePoint{X: p.Shared.At(i, 0), Y: p.Shared.At(i, 1), Class: p.Source.Test.Labels[i]}
	})}
}

// at is the place of pixel i of the picture, row by row from the top.
func (f frame) at(i int) (x, y float64) {
	column, line := i%pixels, i/pixels
	return f.xmin + (f.xmax-f.xmin)*(float64(column)+.5)/pixels, f.ymax - (f.ymax-f.ymin)*(float64(line)+.5)/pixels
}

// picture has the colour of each of its pixels.
func (f frame) picture(title string, colour func(pixel int) color.NRGBA) report.Plane {
	img := image.NewNRGBA(image.Rect(0, 0, pixels, pixels))
	for i := range pixels * pixels {
		img.SetNRGBA(i%pixels, i/pixels, colour(i))
	}
	return report.Plane{
		Title: title, X: "first principal component", Y: "second", Picture: img, Points: f.points,
		XMin: f.xmin, XMax: f.xmax, YMin: f.ymin, YMax: f.ymax,
	}
}

// toy divides the plane itself by two slots of width 1 and four codewords.
func (f frame) toy(ctx context.Context, p *experiments.Prepared) (report.Plane, error) {
	cal := p.Source.Cal
	part := cal.Rows(evenly(cal.Len(), 2000))
	flat := &data.Set{Features: mat.DenseCopyOf(p.Embed.Apply(part.Features).Slice(0, part.Len(), 0, 2)), Logits: part.Logits, Labels: part.Labels}
	divide := &layers.Divide{Slots: 2, Codebook: layers.Codebook{Codewords: 4}, Optim: optim.Settings{Epochs: 20}}
	if err := divide.Fit(ctx, flat, nil, rand.New(rand.NewPCG(0, 5))); err != nil {
		return report.Plane{}, err
	}
	places := mat.NewDense(pixels*pixels, 2, nil)
	for i := range pixels * pixels {
		x, y := f.at(i)
		places.SetRow(i, []float64{x, y})
	}
	at, err := divide.View(&data.Set{Features: places})
	if err != nil {
		return report.Plane{}, err
	}
	fitted, err := divide.View(flat)
	if err != nil {
		return report.Plane{}, err
	}
	votes := mat.NewDense(16, flat.Classes(), nil) // of the rows of each region
	for i, y := range flat.Labels {
		region := int(4*fitted.Codes[2*i] + fitted.Codes[2*i+1])
		votes.Set(region, y, votes.At(region, y)+1)
	}
	return f.picture("w = 2, |C| = 4", func(i int) color.NRGBA {
		fill := color.NRGBA{0xf2, 0xf2, 0xf2, 0xff} // nobody lives there
		of := votes.RawRowView(int(4*at.Codes[2*i] + at.Codes[2*i+1]))
		if best := topOf(of); of[best] > 0 {
			fill = paler(report.ClassColour(best), 0.32)
		}
		return darker(fill, 0.75*f.walls(at.Codes, 2, i))
	}), nil
}

// plane is what the model makes of the features mean + sd·(x e₁ + y e₂).
func (f frame) plane(ctx context.Context, p *experiments.Prepared, model layers.Stateful) (report.Plane, error) {
	divided, ok := model.(layers.Divided)
	if !ok {
		return report.Plane{}, errUndivided
	}
	m, _ := p.Embed.Axes.Dims()
	const chunk = 16 * pixels
	places := mat.NewDense(chunk, m, nil)
	var codes []int32       // of all pixels
	var fills []color.NRGBA // likewise
	var slots, codewords int
	for lo := 0; lo < pixels*pixels; lo += chunk {
		if err := ctx.Err(); err != nil {
			return report.Plane{}, fmt.Errorf("study: draw the divided space: %w", err)
		}
		f.lift(places, p, lo)
		said, regions, err := divided.Read(&data.Set{Features: places})
		if err == nil && regions == nil {
			err = errUndivided
		}
		if err != nil {
			return report.Plane{}, err
		}
		codes, slots, codewords = append(codes, regions.Codes...), regions.Slots, len(regions.Codewords)/regions.Width
		for i := range chunk {
			row := said.LogProbs.RawRowView(i)
			best := topOf(row)
			fills = append(fills, paler(report.ClassColour(best), 0.1+0.45*math.Exp(row[best])))
		}
	}
	return f.picture(fmt.Sprintf("w = %d, |C| = %d", slots, codewords), func(i int) color.NRGBA {
		return darker(fills[i], min(0.6, 4*f.walls(codes, slots, i)))
	}), nil
}

var errUndivided = errors.New("study: the model of vq divides no space")

// lift writes to places the features of the pixels from one on.
func (f frame) lift(places *mat.Dense, p *experiments.Prepared, first int) {
	n, _ := places.Dims()
	scale, axes := p.Embed.Scale, p.Embed.Axes
	for i := range n {
		u, v := f.at(first + i)
		row := places.RawRowView(i)
		for j := range row {
			row[j] = scale.Mean[j] + scale.SD[j]*(u*axes.At(j, 0)+v*axes.At(j, 1))
		}
	}
}

// walls is the share of slots whose codeword differs between pixel i and its
// neighbour to the right or below.
func (frame) walls(codes []int32, slots, i int) float64 {
	differ := 0
	for s := range slots {
		if i%pixels < pixels-1 && codes[i*slots+s] != codes[(i+1)*slots+s] {
			differ++
		}
		if i/pixels < pixels-1 && codes[i*slots+s] != codes[(i+pixels)*slots+s] {
			differ++
		}
	}
	return float64(differ) / float64(2*slots)
}

// evenly is most of the numbers below n, or all if there are no more, at even
// distances.
func evenly(n, most int) []int {
	rows := make([]int, min(n, most))
	for i := range rows {
		rows[i] = i * n / len(rows)
	}
	return rows
}

// paler mixes c with white; strength 1 is c.
func paler(c color.NRGBA, strength float64) color.NRGBA {
	mix := func(v uint8) uint8 { return uint8(255 - strength*(255-float64(v))) }
	return color.NRGBA{mix(c.R), mix(c.G), mix(c.B), 0xff}
}

// darker mixes c with black; strength 1 is black.
func darker(c color.NRGBA, strength float64) color.NRGBA {
	mix := func(v uint8) uint8 { return uint8((1 - strength) * float64(v)) }
	return color.NRGBA{mix(c.R), mix(c.G), mix(c.B), 0xff}
}
