package data

// WriteNPZ writes the arrays to the npz file at path, whole or not at all; see [NPZ].
func WriteNPZ(path string, arrays ...Array) error { return WriteFile(path, NPZ(arrays...)) }

// WriteArrays writes arrays of N rows to the file at path, whole or not at all, as a table or as an
// npz file; see [Formatted].
func WriteArrays(path string, arrays ...Array) error {
	write, err := Formatted(path, arrays...)
	if err != nil {
		return err
	}
	return WriteFile(path, write)
}
