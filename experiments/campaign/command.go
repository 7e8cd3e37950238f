package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"calibra/data"
	"calibra/experiments/bench"

	"github.com/sourcegraph/conc"
)

// longest is how long a command may take on problems as small as these, on a machine that
// may be busy with much else.
const longest = 10 * time.Minute

// ended is a command that ended.
type ended struct {
	line   string
	code   int
	stderr string
}

// command is calibra with args, on the CPU and on one core, since several run side by side.
func (c *campaign) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.program, args...)
	cmd.Env = append(os.Environ(), "CALIBRA_DEVICE=cpu", "GOMAXPROCS=1")
	return cmd
}

// run runs calibra to its end and holds it against what every command must do: end, with
// one of the codes, with no trace, and with a short answer where it refuses.
func (c *campaign) run(n *count, codes []int, args ...string) ended {
	return c.shell(n, codes, "", args...)
}

// shell is run after what a shell does first.
func (c *campaign) shell(n *count, codes []int, first string, args ...string) ended {
	ctx, cancel := context.WithTimeout(c.ctx, longest)
	defer cancel()
	cmd := c.command(ctx, args...)
	if first != "" {
		if !strings.HasSuffix(strings.TrimSpace(first), ";") {
			first = "export " + first + ";"
		}
		env := cmd.Env
		cmd = exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", first + ` exec "$0" "$@"`, c.program}, args...)...)
		cmd.Env = env
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	_ = cmd.Run() // its code is read below
	e := ended{strings.TrimSpace(first+" calibra ") + " " + strings.Join(args, " "), -1, stderr.String()}
	if cmd.ProcessState == nil || c.ctx.Err() != nil {
		return e
	}
	e.code = cmd.ProcessState.ExitCode()
	n.ate(bench.Peak(cmd.ProcessState))
	switch {
	case ctx.Err() != nil:
		n.failed("hangs", "%s", e.line)
	case strings.Contains(e.stderr, "goroutine ") || strings.Contains(e.stderr, "panic:") || strings.Contains(e.stderr, "runtime error"):
		n.failed("traces", "%s: %s", e.line, opening(e.stderr))
	case !slices.Contains(codes, e.code):
		n.failed("wrong exits", "%s: %d: %s", e.line, e.code, opening(e.stderr))
	case e.code != 0 && len(e.stderr) > 4000:
		n.failed("long answers", "%s: %d bytes", e.line, len(e.stderr))
	}
	return e
}

func opening(text string) string {
	text = strings.TrimSpace(text)
	return text[:min(len(text), 300)]
}

// side runs work on as many cores as there are, until it has no more to do.
func side(work func(worker int)) {
	var wait conc.WaitGroup
	for w := range runtime.GOMAXPROCS(0) {
		wait.Go(func() { work(w) })
	}
	wait.Wait()
}

// each makes all of the attacks in their order, on as many cores as there are, as far as time goes.
func each[T any](c *campaign, n *count, all []T, attack func(worker int, a T)) {
	if n.Goal == 0 || n.Goal > len(all) {
		n.Goal = len(all)
	}
	next := make(chan T, len(all))
	for _, a := range all {
		next <- a
	}
	side(func(worker int) {
		for n.more(c) {
			attack(worker, <-next)
		}
	})
}

// unfinished matches names that are only there while a command writes, or is to go on.
var unfinished = regexp.MustCompile(`^\..+\.\d+(@[^.]*)?\.\d+$|^\.probe-|\.partial$`)

// tidy counts what unfinished work left below dir.
func (c *campaign) tidy(n *count, dir, after string) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && unfinished.MatchString(e.Name()) {
			n.failed("leftovers", "%s after %s", path, after)
		}
		return nil
	})
}

// sound counts predictions that are none: every row must sum to 1.
func (c *campaign) sound(n *count, path, after string) {
	if _, err := data.ReadPredictions(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.failed("bad predictions", "%v, after %s", err, after)
	}
}
