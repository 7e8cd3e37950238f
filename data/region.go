package data

import (
	"cmp"
	"slices"
)

// holdOut divides the table's rows by a region of its columns: region is the share
// of the rows that lie farthest along the first principal component of the
// standardized columns, inside all others; both ascend. A classifier and a
// calibrator that see the inside alone are judged out of distribution on the
// region. The direction points to where the component's largest loading is
// positive, so the same table always gives the same rows. They are other rows, not
// always harder ones: classes lie apart at the bright end of satellite. It panics
// unless 0 < share < 1.
func (t *Table) holdOut(share float64) (inside, region []int, err error) {
	if !(share > 0 && share < 1) {
		panic("data: holdOut: the share must lie between 0 and 1")
	}
	embed, err := FitEmbedding(t.Features, 1)
	if err != nil {
		return nil, nil, err
	}
	z := embed.Apply(t.Features)
	order := UpTo(t.Len())
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(z.At(i, 0), z.At(j, 0)) })
	cut := t.Len() - int(share*float64(t.Len()))
	inside, region = order[:cut], order[cut:]
	slices.Sort(inside)
	slices.Sort(region)
	return inside, region, nil
}
