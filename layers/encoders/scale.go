package encoders

import (
	"fmt"
	"math"

	"calibra/data"

	"gorgonia.org/tensor"
)

// Scale standardizes raw rows, (x − Mean)/SD: one pair a column of a table, one a
// channel of images.
type Scale struct {
	Mean []float64 `json:"mean"`
	SD   []float64 `json:"sd"`
}

// fitScale measures the training rows. Categorical columns stay as they are.
func fitScale(in *data.Inputs, categorical []Category) Scale {
	if len(in.Shape) == 3 {
		return channelScale(in)
	}
	s := data.FitStandardizer(in.Matrix())
	for _, c := range categorical {
		s.Mean[c.Column], s.SD[c.Column] = 0, 1
	}
	return Scale{s.Mean, s.SD}
}

// channelScale is each channel's mean and standard deviation over all pixels.
func channelScale(in *data.Inputs) Scale {
	channels, area := in.Shape[0], in.Shape[1]*in.Shape[2]
	sum, square := make([]float64, channels), make([]float64, channels)
	row := make([]float32, in.Width())
	for i := range in.Len() {
		in.Read(row, i, i+1)
		for j, v := range row {
			sum[j/area] += float64(v)
			square[j/area] += float64(v) * float64(v)
		}
	}
	s := Scale{make([]float64, channels), make([]float64, channels)}
	n := float64(in.Len() * area)
	for c := range channels {
		s.Mean[c] = sum[c] / n
		if s.SD[c] = math.Sqrt(max(square[c]/n-s.Mean[c]*s.Mean[c], 0)); s.SD[c] < 1e-6 { // pixels are steps of 1/255
			s.SD[c] = 1
		}
	}
	return s
}

// farthest is how many standard deviations a value may lie from the mean. A network in
// float32 squares what it reads and multiplies it by weights, up to 3e38.
const farthest = 1e12

// check returns an *InputError for the first value of the rows that no network computes
// with: one that float32 does not hold or, where there is a scale, one beyond farthest.
func (s Scale) check(in *data.Inputs) error {
	row := make([]float32, in.Width())
	for i := range in.Len() {
		in.Read(row, i, i+1)
		for j, v := range row {
			far := 0.0
			if len(s.Mean) > 0 {
				k := j * len(s.Mean) / len(row)
				far = math.Abs(float64(v)-s.Mean[k]) / s.SD[k]
			}
			where := func() string {
				if j < len(in.Columns) {
					return fmt.Sprintf("column %.40q of row %d", in.Columns[j], in.Number(i)+1)
				}
				return fmt.Sprintf("value %d of row %d", j+1, in.Number(i)+1)
			}
			switch {
			case v-v != 0:
				return data.Inputf("", "%s: %s is beyond 3e38, which float32 holds at most; mend it or leave out the row", in.Name, where())
			case !(far <= farthest):
				return data.Inputf("", "%s: %s is %v, %.2g standard deviations from the training rows' mean, and a network computes with %.0g at most; mend it or leave out the row", in.Name, where(), v, far, farthest)
			}
		}
	}
	return nil
}

// apply writes the rows of x, standardized, to dst, N×width, from row lo on.
func (s Scale) apply(dst *tensor.Dense, lo int, x []float32) {
	width := dst.Shape()[1]
	if dst.Dtype() == tensor.Float64 {
		standardize(s, dst.Float64s()[lo*width:], x, width)
	} else {
		standardize(s, dst.Float32s()[lo*width:], x, width)
	}
}

func standardize[T float32 | float64](s Scale, dst []T, x []float32, width int) {
	span := width / len(s.Mean) // values that share a mean
	for i, v := range x {
		j := i % width / span
		dst[i] = T((float64(v) - s.Mean[j]) / s.SD[j])
	}
}

// categorical is a network that reads some columns as categories.
type categorical interface{ categories() []Category }

func categoriesOf(n Network) []Category {
	if c, ok := n.(categorical); ok {
		return c.categories()
	}
	return nil
}

// checkCategories returns an error for the first value of rows x that is none of
// its column's categories.
func checkCategories(n Network, x []float32, width int) error {
	for _, c := range categoriesOf(n) {
		for i := c.Column; i < len(x); i += width {
			if v := x[i]; !(v >= 0 && v < float32(c.Values)) || v != float32(int(v)) {
				return data.Inputf("", "column %d holds %v in row %d; its categories are 0…%d", c.Column+1, v, i/width, c.Values-1)
			}
		}
	}
	return nil
}
