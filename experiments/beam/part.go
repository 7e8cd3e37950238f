package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"calibra/experiments/cli"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
)

// part runs a calibra command as a part of an element and gives what it printed. Its notes
// are logged.
func part(ctx context.Context, args []string) (printed string, err error) {
	dir, err := os.MkdirTemp("", "calibra-beam-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		return "", err
	}
	defer out.Close()
	notes, err := os.Create(filepath.Join(dir, "notes"))
	if err != nil {
		return "", err
	}
	defer notes.Close()
	failed := cli.Run(ctx, append([]string{"--quiet"}, args...), out, notes)
	said, err := os.ReadFile(notes.Name())
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(said)) {
		log.Warn(ctx, strings.TrimSpace(line))
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		return "", err
	}
	return string(text), failed
}
