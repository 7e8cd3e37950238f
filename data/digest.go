package data

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
)

// Digest is the SHA-256 of the files one after the other, in hexadecimal digits. A file
// that cannot be read is an *InputError.
func Digest(paths ...string) (string, error) {
	h := sha256.New()
	for _, path := range paths {
		f, err := OpenFile(path)
		if err != nil {
			return "", err
		}
		_, err = io.Copy(h, f)
		f.Close()
		if err != nil {
			return "", Inputf(path, "cannot be read: %w", err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
