package data

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// What is being written has the name .NAME.PID@HOST.N until it is whole, and its writer
// holds its lock. A process that is killed leaves it behind; the next that writes there
// clears it. The directory may be shared by many machines, of which one knows only its own
// processes.

// temporary is such a name.
func temporary(dir, base string, n int) string {
	return filepath.Join(dir, fmt.Sprintf(".%s.%d@%s.%d", base, os.Getpid(), thisHost(), n))
}

// thisHost is the machine in such a name.
var thisHost = sync.OnceValue(func() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return strings.NewReplacer(".", "-", "@", "-", string(filepath.Separator), "-").Replace(name)
})

// ofTemporary is NAME, PID and HOST of such a name. One without a host, as older versions
// wrote it, is of this one.
func ofTemporary(name string) (base string, pid int, host string, ok bool) {
	rest, dot := strings.CutPrefix(name, ".")
	rest, n, _ := cutLast(rest)
	base, writer, two := cutLast(rest)
	number, host, named := strings.Cut(writer, "@")
	if !named {
		host = thisHost()
	}
	pid, err := strconv.Atoi(number)
	if _, bad := strconv.Atoi(n); !dot || !two || base == "" || err != nil || bad != nil {
		return "", 0, "", false
	}
	return base, pid, host, true
}

func cutLast(s string) (before, after string, found bool) {
	i := strings.LastIndexByte(s, '.')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// leftovers are the paths of what processes that have ended left in dir under the bases
// that ours accepts. A lock that can be had has no holder. It is taken a moment after the
// file is made, so that of one younger than a minute the process must be gone, too. What
// another machine began, whose locks a shared directory may not tell, is left for a day.
func leftovers(dir string, ours func(base string) bool) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var dead []string
	for _, e := range entries {
		base, pid, host, ok := ofTemporary(e.Name())
		if !ok || !ours(base) {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		free, locks := tryLock(f, true)
		f.Close()
		age := time.Since(info.ModTime())
		ended := !alive(pid) || locks && age > time.Minute
		if host != thisHost() {
			ended = age > 24*time.Hour
		}
		if free && ended {
			dead = append(dead, path)
		}
	}
	return dead
}

// Sweep removes from dir what killed processes left of files that [WriteFile] wrote there,
// of those whose names ours accepts. What cannot be removed stays.
func Sweep(dir string, ours func(name string) bool) {
	for _, path := range leftovers(dir, ours) {
		os.Remove(path)
	}
}

// Lock waits for the lock of a file that a command works in for long, until its holder is
// done or killed. If ctx is cancelled, the error is ctx.Err().
func Lock(ctx context.Context, f *os.File) error {
	for {
		if ok, _ := tryLock(f, true); ok {
			return ctx.Err()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
