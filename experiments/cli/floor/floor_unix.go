//go:build unix

// Package floor ends the program with one sentence if the shell's limits allow the process too little for any work.
// Other packages open files while they are initialized, and Go would end with a stack trace there. Packages that import
// only Go's own are initialized in the order of their paths, so this one comes before them.
package floor

import (
	"os"
	"strconv"
	"syscall"
)

// The least that any work needs. Go itself opens files, and takes a gigabyte of addresses before
// the first array.
const (
	files     = 16
	addresses = 4 << 20 // kB
)

func init() {
	if problem := short(); problem != "" {
		os.Stderr.WriteString("calibra: " + problem + "\n")
		os.Exit(1)
	}
}

// short names what the process lacks, "" if nothing.
func short() string {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil && uint64(limit.Cur) < files {
		return "no more than " + strconv.Itoa(int(limit.Cur)) + " files may be open at once; " + strconv.Itoa(files) + " are needed at least (ulimit -n " + strconv.Itoa(files) + ")"
	}
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &limit); err == nil && uint64(limit.Cur)>>10 < addresses {
		return "no more than " + strconv.Itoa(int(uint64(limit.Cur)>>20)) + " MB of memory may be addressed; " + strconv.Itoa(addresses>>10) + " are needed at least, of which a part is filled (ulimit -v " + strconv.Itoa(addresses) + ")"
	}
	return ""
}
