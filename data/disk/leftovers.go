package disk

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// What is being written has the name .NAME.PID@HOST.N until it is whole, and its writer
// holds its lock. A process that is killed leaves it behind; the next that writes there
// clears it. The directory may be shared by many machines, of which one knows only its own
// processes.

// temporary is such a name.
func temporary(base string, n int) string {
	return fmt.Sprintf(".%s.%d@%s.%d", base, os.Getpid(), thisHost(), n)
}

// thisHost is the machine in such a name.
var thisHost = sync.OnceValue(func() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return strings.NewReplacer(".", "-", "@", "-", string(filepath.Separator), "-").Replace(name)
})

var temporaryName = regexp.MustCompile(`(?s)^\.(.+)\.([+-]?[0-9]+)(@[^.]*)?\.[+-]?[0-9]+$`)

// ofTemporary is NAME, PID and HOST of such a name. One without a host, as older versions
// wrote it, is of this one.
func ofTemporary(name string) (base string, pid int, host string, ok bool) {
	m := temporaryName.FindStringSubmatch(name)
	if m == nil {
		return "", 0, "", false
	}
	host, named := strings.CutPrefix(m[3], "@")
	if !named {
		host = thisHost()
	}
	pid, err := strconv.Atoi(m[2])
	return m[1], pid, host, err == nil
}

// temporaries are such names in root, of files and directories under the bases that ours
// accepts.
func temporaries(root *os.Root, ours func(base string) bool) (names []string) {
	dir, err := root.Open(".")
	if err != nil {
		return nil
	}
	defer dir.Close()
	all, _ := dir.Readdirnames(-1)
	for _, name := range all {
		base, _, _, ok := ofTemporary(name)
		if !ok || !ours(base) {
			continue
		}
		if info, err := root.Lstat(name); err == nil && (info.IsDir() || info.Mode().IsRegular()) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// leftovers are those of processes that have ended. A lock that can be had has no holder.
// It is taken a moment after the file is made, so that of one younger than a minute the
// process must be gone, too. What another machine began, whose locks a shared directory may
// not show, is left for a day.
func leftovers(root *os.Root, ours func(base string) bool) (dead []string) {
	for _, name := range temporaries(root, ours) {
		f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		free, locks := tryLock(f, true)
		info, err := f.Stat()
		f.Close()
		if err != nil {
			continue
		}
		_, pid, host, _ := ofTemporary(name)
		age := time.Since(info.ModTime())
		ended := !alive(pid) || locks && age > time.Minute
		if host != thisHost() {
			ended = age > 24*time.Hour
		}
		if free && ended {
			dead = append(dead, name)
		}
	}
	return dead
}

// Sweep removes from dir what killed processes left of files that [WriteFile] wrote there,
// of those whose names ours accepts. What cannot be removed stays.
func Sweep(dir string, ours func(name string) bool) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return
	}
	defer root.Close()
	sweep(root, changed(dir, rooted{root}), ours)
}

func sweep(root *os.Root, disk Disk, ours func(name string) bool) {
	for _, name := range leftovers(root, ours) {
		_ = disk.Remove(name)
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
