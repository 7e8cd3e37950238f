package checked

// Numbered are numbers of n things, the same of those with the same key: 0, 1, … in the order in which keys come.
func Numbered[K comparable](n int, key func(i int) K) []int {
	number, seen := make([]int, n), map[K]int{}
	for i := range number {
		k := key(i)
		if _, known := seen[k]; !known {
			seen[k] = len(seen)
		}
		number[i] = seen[k]
	}
	return number
}
