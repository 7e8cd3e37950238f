package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"calibra/data/disk"
	"calibra/experiments/bench"
)

// scale are files of one size, and the commands that are measured on them.
type scale struct {
	rows, test        int
	features, classes int
	dir               string
	longest           time.Duration
	program           string // the executable calibra

	method string // of the last fit
}

// measured is what a command needed.
type measured struct {
	command                 string
	rows, features, classes int
	file, peak              float64 // MB, of the input and of the process
	core, wall              float64 // seconds
	interrupted             bool
	cores                   int
}

func (m *measured) String() string {
	text := fmt.Sprintf("%s: %d × %d rows of %d classes, %.0f MB: peak %.0f MB, %.1f times the input, %.1f core seconds, %.1f s",
		m.command, m.rows, m.features, m.classes, m.file, m.peak, m.peak/m.file, m.core, m.wall)
	if m.interrupted {
		text += ", interrupted"
	}
	return text
}

// measure runs a command on the file of its kind.
func (s *scale) measure(ctx context.Context, command string) (*measured, error) {
	args, in, err := s.arguments(strings.Fields(command))
	if err != nil {
		return nil, err
	}
	if args[0] == "apply" {
		command += ", a model of " + s.method
	}
	info, err := os.Stat(in)
	if err != nil {
		return nil, err
	}
	if args[0] == "fit" {
		if err := os.RemoveAll(s.model()); err != nil {
			return nil, err
		}
	}
	limited, cancel := context.WithTimeout(ctx, s.longest)
	defer cancel()
	cmd := exec.CommandContext(limited, s.program, append(args, "--in", in, "--quiet")...)
	cmd.Env = append(os.Environ(), "CALIBRA_DEVICE=cpu")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	began := time.Now()
	err = cmd.Run()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	interrupted := limited.Err() != nil
	if err != nil && !interrupted {
		return nil, fmt.Errorf("calibra %s: %w: %s", strings.Join(cmd.Args[1:], " "), err, stderr.Bytes())
	}
	p := cmd.ProcessState
	return &measured{
		command: command, rows: s.rows, features: s.features, classes: s.classes,
		file: float64(info.Size()) / 1e6, peak: bench.Peak(p), core: p.UserTime().Seconds(), wall: time.Since(began).Seconds(),
		interrupted: interrupted, cores: runtime.NumCPU(),
	}, nil
}

// arguments are the command's with the files that it writes, and the file that it reads.
func (s *scale) arguments(command []string) (args []string, in string, err error) {
	switch command[0] {
	case "fit":
		in, err = s.file(fmt.Sprintf("fit-%d", s.test), part{[3]string{"cal_features", "cal_logits", "cal_labels"}, s.rows}, part{[3]string{"test_features", "test_logits", "test_labels"}, s.test})
		s.method = "vq"
		if i := slices.Index(command, "--method"); i >= 0 && i+1 < len(command) {
			s.method = command[i+1]
		}
		return append(command, "--out", s.model()), in, err
	case "apply":
		if s.method == "" {
			return nil, "", errors.New("apply needs the model of a fit: name one before it, as in 'fit --method ts' apply")
		}
		in, err = s.file("apply", part{[3]string{"test_features", "test_logits", "test_labels"}, s.rows})
		return append(command, "--model", s.model(), "--out", filepath.Join(s.dir, "out.npz")), in, err
	case "evaluate":
		in, err = s.file("evaluate", part{[3]string{"embedding", "logits", "labels"}, s.rows})
		return command, in, err
	}
	return nil, "", fmt.Errorf("%s is not measured: choose fit, apply or evaluate", command[0])
}

func (s *scale) model() string { return filepath.Join(s.dir, "model-"+s.method) }

// file is the path of a file of the parts, which is written if it is not there.
func (s *scale) file(name string, parts ...part) (string, error) {
	path := filepath.Join(s.dir, fmt.Sprintf("%s-%dx%dx%d.npz", name, s.rows, s.features, s.classes))
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	return path, disk.WriteNPZ(path, newRows(s.features, s.classes).arrays(parts)...)
}
