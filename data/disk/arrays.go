package disk

import "calibra/data"

// WriteNPZ writes the arrays to the npz file at path, whole or not at all; see [data.NPZ].
func WriteNPZ(path string, arrays ...data.Array) error { return WriteFile(path, data.NPZ(arrays...)) }

// WriteArrays writes arrays of N rows to the file at path, whole or not at all, as a table or as an
// npz file; see [data.Formatted].
func WriteArrays(path string, arrays ...data.Array) error {
	write, err := data.Formatted(path, arrays...)
	if err != nil {
		return err
	}
	return WriteFile(path, write)
}
