package data

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestInputErrorNamesItsFileOnce, and is still told apart by its cause.
func TestInputErrorNamesItsFileOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none")
	_, err := Digest(path)
	if err == nil || strings.Count(err.Error(), path) != 1 {
		t.Errorf("got %v", err)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is no fs.ErrNotExist", err)
	}
}
