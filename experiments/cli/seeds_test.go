package cli

import (
	"slices"
	"testing"
)

func TestSeeds(t *testing.T) {
	for text, want := range map[string][]uint64{
		"1": {1}, "42-46": {42, 43, 44, 45, 46}, "42,43,50-52": {42, 43, 50, 51, 52}, "7, 3": {7, 3}, "18446744073709551615": {1<<64 - 1},
	} {
		var got seeds
		if err := got.UnmarshalText([]byte(text)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %v (%v), not %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "-1", "3-1", "1,,2", "1,1", "1-3,2", "0-99999999", "1-2-3", "18446744073709551616"} {
		var got seeds
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
