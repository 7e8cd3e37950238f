package data

import (
	"fmt"
	"math"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
)

// room is how many bytes of memory the process may fill: three quarters of the least of
// what the machine has, what its control group allows (Linux), what the shell allows
// (ulimit -v) and GOMEMLIMIT. Where none is known, 16 GiB are taken for what is there.
func room() int64 {
	return min(machine(), debug.SetMemoryLimit(-1)) / 4 * 3
}

// machine is the memory of the machine or of the part of it that the process is given.
var machine = sync.OnceValue(func() int64 {
	least := int64(math.MaxInt64)
	bound := func(n int64) {
		if n > 0 {
			least = min(least, n)
		}
	}
	bound(memTotal())
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if text, err := ReadSmall(path, 1<<10); err == nil {
			n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max" is none
			bound(n)
		}
	}
	bound(addressSpace())
	if least > math.MaxInt64/2 {
		least = 16 << 30
	}
	return least
})

// memTotal is the machine's memory by Linux's figure, or 0.
func memTotal() int64 {
	text, _ := ReadSmall("/proc/meminfo", 1<<16)
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "MemTotal:" {
			kilobytes, _ := strconv.ParseInt(fields[1], 10, 64)
			return kilobytes << 10
		}
	}
	return 0
}

// CheckRoom returns an *InputError unless n units of so many bytes each have room. It
// states how many would: "cal_features takes 80 GB for 1000000 rows; at most 200000 rows fit
// into the 16 GB there are".
func CheckRoom(path, what string, n int, each float64, units string) error {
	room := float64(room())
	if float64(n)*each <= room {
		return nil
	}
	return Inputf(path, "%s takes %s of memory for %d %s; at most %.0f %s fit into the %s there are", what, size(float64(n)*each), n, units, math.Floor(room/each), units, size(room))
}

// size is so many bytes in words.
func size(bytes float64) string {
	switch {
	case bytes >= 1e9:
		return fmt.Sprintf("%.3g GB", bytes/1e9)
	case bytes < 1e5:
		return fmt.Sprintf("%.3g kB", bytes/1e3)
	}
	return fmt.Sprintf("%.3g MB", bytes/1e6)
}
