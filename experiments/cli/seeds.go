package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// seeds are those of a command that fits several times: "42", "42,43,50-52".
type seeds []uint64

// mostSeeds bounds a range, lest a slip of the keyboard fill the memory.
const mostSeeds = 10_000

// UnmarshalText reads numbers and ranges of numbers, separated by commas.
func (s *seeds) UnmarshalText(text []byte) error {
	*s = nil
	for _, part := range strings.Split(string(text), ",") {
		part = strings.TrimSpace(part)
		low, high, ranged := strings.Cut(part, "-")
		first, err := strconv.ParseUint(low, 10, 64)
		last := first
		if err == nil && ranged {
			last, err = strconv.ParseUint(high, 10, 64)
		}
		switch {
		case err != nil || last < first:
			return fmt.Errorf("%q is not a seed or a range of seeds; write a list such as 42,43,50-52", part)
		case last-first >= mostSeeds || uint64(len(*s))+last-first >= mostSeeds:
			return fmt.Errorf("%q makes more than %d seeds", string(text), mostSeeds)
		}
		for seed := first; ; seed++ {
			if slices.Contains(*s, seed) {
				return fmt.Errorf("the list names %d twice", seed)
			}
			*s = append(*s, seed)
			if seed == last {
				break
			}
		}
	}
	return nil
}
