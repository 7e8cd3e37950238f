package data

// Each returns of(x) for each x of all, in order; nil if all is empty.
func Each[T, U any](all []T, of func(T) U) (out []U) {
	for _, x := range all {
		out = append(out, of(x))
	}
	return out
}
