package disk

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// What is being written has the name .NAME.PID@HOST.N until it is whole, and its writer
// holds its lock. A process that is killed leaves it behind; the next that writes there
// clears it. The directory may be shared by many machines, of which one knows only its own
// processes.

// temporary is such a name, another one each time.
func temporary(base string) string {
	return fmt.Sprintf(".%s.%d@%s.%d", base, os.Getpid(), thisHost(), began+made.Add(1))
}

var (
	began = time.Now().UnixNano() // an earlier process may have had the same number
	made  atomic.Int64
)

// thisHost is the machine in such a name.
var thisHost = sync.OnceValue(func() string {
	name, _ := os.Hostname()
	return strings.NewReplacer(".", "-", "@", "-", string(filepath.Separator), "-").Replace(name)
})

var temporaryName = regexp.MustCompile(`(?s)^\.(.+)\.([0-9]{1,9})@([^.]*)\.[0-9]+$`)

// Sweep removes from dir what killed processes left of files that [WriteFile] wrote there,
// of those whose names ours accepts. What cannot be removed stays.
func Sweep(dir string, ours func(name string) bool) {
	root, err := os.OpenRoot(filepath.Clean(dir))
	if err != nil {
		return
	}
	defer root.Close()
	inside{root}.sweep(ours)
}

// sweep removes files and directories of such names that nobody has locked and whose process has ended or, on another
// machine, whose locks a shared directory may not show, that nobody changed for a day.
func (d inside) sweep(ours func(base string) bool) {
	dir, err := d.Open(".")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		m := temporaryName.FindStringSubmatch(name)
		if m == nil || !ours(m[1]) {
			continue
		}
		info, err := d.Lstat(name)
		if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
			continue
		}
		f, err := d.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		free := tryLock(f, true)
		f.Close()
		pid, _ := strconv.Atoi(m[2])
		if free && (m[3] == thisHost() && !alive(pid) || time.Since(info.ModTime()) > 24*time.Hour) {
			_ = d.remove(name)
		}
	}
}
