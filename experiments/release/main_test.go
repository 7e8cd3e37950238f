package main

import (
	"os"
	"testing"
)

// TestLicences holds LICENSES.md to what the command links.
func TestLicences(t *testing.T) {
	modules, err := linked()
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("LICENSES.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := table(modules); string(have) != want {
		t.Errorf("LICENSES.md is stale; write it with go run ./experiments/release:\n%s", want)
	}
}
