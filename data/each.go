package data

// Each is what of gives of each of all, in their order; nil of none.
func Each[T, U any](all []T, of func(T) U) (out []U) {
	for _, x := range all {
		out = append(out, of(x))
	}
	return out
}
