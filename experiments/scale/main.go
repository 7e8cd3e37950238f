package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"
)

// usual are the commands where none are given.
var usual = []string{
	"fit --method ts", "apply",
	"fit --method vq --set optim.epochs=2", "apply",
	"evaluate --anchors 2000 --folds 0",
}

func main() {
	var s scale
	flag.IntVar(&s.rows, "rows", 100_000, "rows of each file")
	flag.IntVar(&s.features, "features", 512, "features of a row")
	flag.IntVar(&s.classes, "classes", 10, "classes")
	flag.IntVar(&s.test, "test", 1000, "test rows of a fit")
	flag.StringVar(&s.dir, "dir", "", "directory for the files, which are kept there for the next run; without it they are removed")
	flag.DurationVar(&s.longest, "longest", 40*time.Minute, "when a command is interrupted")
	write := flag.Bool("table", false, "write results.csv and RESULTS.md in experiments/scale")
	flag.Parse()
	commands := flag.Args()
	if len(commands) == 0 {
		commands = usual
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := s.run(ctx, commands, *write); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func (s *scale) run(ctx context.Context, commands []string, write bool) error {
	if s.dir == "" {
		dir, err := os.MkdirTemp("", "calibra-scale-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		s.dir = dir
	} else if err := os.MkdirAll(s.dir, 0o777); err != nil {
		return err
	}
	s.program = filepath.Join(s.dir, "calibra")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", s.program, "./experiments/cmd/calibra").CombinedOutput(); err != nil {
		return fmt.Errorf("build calibra: %w: %s", err, out)
	}
	for _, c := range commands {
		m, err := s.measure(ctx, c)
		if err != nil {
			return err
		}
		fmt.Println(m)
		if write {
			if err := page.Keep(filepath.Join("experiments", "scale"), m.row()); err != nil {
				return err
			}
		}
	}
	return nil
}
