package main

import (
	"context"
	"io"
	"os"
	"strings"

	"calibra/experiments/cli"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
)

// part runs a calibra command as a part of an element and gives what it printed. Its notes
// are logged.
func part(ctx context.Context, args []string) (printed string, err error) {
	out, err := os.CreateTemp("", "calibra-beam-")
	if err != nil {
		return "", err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	notes, err := os.CreateTemp("", "calibra-beam-")
	if err != nil {
		return "", err
	}
	defer os.Remove(notes.Name())
	defer notes.Close()
	failed := cli.Run(ctx, append([]string{"--quiet"}, args...), out, notes)
	for _, f := range []*os.File{out, notes} {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return "", err
		}
	}
	said, err := io.ReadAll(notes)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(said)) {
		log.Warn(ctx, strings.TrimSpace(line))
	}
	text, err := io.ReadAll(out)
	if err != nil {
		return "", err
	}
	return string(text), failed
}
