//go:build unix

// Package floor ends a program that imports it, in a sentence, where the shell allows its
// process too little for any work. Others open files as their packages are initialized, and Go
// ends with a trace where it cannot; those that import no other package than Go's are
// initialized in the order of their paths, this one before them.
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
