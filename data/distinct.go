package data

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"slices"
)

// Distinct are the kinds of rows, each with the numbers of its rows, ascending, in the order in which they first occur:
// rows of one kind have equal logits, features and labels. It is nil if no two rows are equal, or if rows have only
// labels.
func (s *Set) Distinct() [][]int {
	if s.Logits == nil && s.Features == nil {
		return nil
	}
	if s.Logits != nil && s.Features != nil && Kinds(s.Len(), s.appendOutputs) == nil { // features take longer
		return nil
	}
	return Kinds(s.Len(), func(to []byte, i int) []byte { return s.appendFeatures(s.appendOutputs(to, i), i) })
}

// AppendRow appends what rows are told apart by, the logits and the features of row i as far as there are any:
// bytes that are the same of numbers that are equal.
func (s *Set) AppendRow(to []byte, i int) []byte { return s.appendFeatures(s.appendLogits(to, i), i) }

// Kinds are the numbers of the rows' kinds (N), as [Set.Distinct] has them; nil where no two rows are equal.
func (s *Set) Kinds() []int {
	all := s.Distinct()
	if all == nil {
		return nil
	}
	kinds := make([]int, s.Len())
	for k, rows := range all {
		for _, i := range rows {
			kinds[i] = k
		}
	}
	return kinds
}

// Kinds are the numbers below n by what is appended of them, each kind ascending; nil where that is never the same.
func Kinds(n int, appendRow func(to []byte, i int) []byte) [][]int {
	seed := maphash.MakeSeed() // nothing depends on it
	at := map[uint64][]int{}   // kinds by their hash
	var row, other []byte
	var out [][]int
	for i := range n {
		row = appendRow(row[:0], i)
		hash := maphash.Bytes(seed, row)
		k := slices.IndexFunc(at[hash], func(k int) bool {
			other = appendRow(other[:0], out[k][0])
			return slices.Equal(row, other)
		})
		if k >= 0 {
			k = at[hash][k]
			out[k] = append(out[k], i)
			continue
		}
		at[hash] = append(at[hash], len(out))
		out = append(out, []int{i})
	}
	if len(out) == n {
		return nil
	}
	return out
}

// appendOutputs appends the logits and the labels of row i.
func (s *Set) appendOutputs(to []byte, i int) []byte {
	if to = s.appendLogits(to, i); s.Soft != nil {
		to = appendNumbers(to, s.Soft.RawRowView(i)...)
	}
	if s.Labels != nil {
		to = binary.LittleEndian.AppendUint64(to, uint64(s.Labels[i]))
	}
	return to
}

func (s *Set) appendLogits(to []byte, i int) []byte {
	if s.Logits != nil {
		to = appendNumbers(to, s.Logits.RawRowView(i)...)
	}
	return to
}

func (s *Set) appendFeatures(to []byte, i int) []byte {
	for j := range s.Width() {
		to = appendNumbers(to, s.Features.At(i, j))
	}
	return to
}

func appendNumbers(to []byte, values ...float64) []byte {
	for _, v := range values {
		to = binary.LittleEndian.AppendUint64(to, math.Float64bits(v+0)) // −0 + 0 is 0
	}
	return to
}
