package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// smallDisk is a small disk, in memory.
type smallDisk struct{ dir string }

// newDisk mounts one at dir, where the system lets this process.
func newDisk(dir string) (*smallDisk, error) {
	must(os.MkdirAll(dir, 0o777))
	if err := syscall.Mount("campaign", dir, "tmpfs", 0, "size=1g"); err != nil {
		return nil, fmt.Errorf("mounting a small disk is not allowed here (%w)", err)
	}
	return &smallDisk{dir}, nil
}

// room leaves so much room beside what is there.
func (d *smallDisk) room(kilobytes, files int) error {
	var s syscall.Statfs_t
	if err := syscall.Statfs(d.dir, &s); err != nil {
		return err
	}
	used := (int64(s.Blocks) - int64(s.Bfree)) * s.Bsize >> 10
	size := fmt.Sprintf("size=%dk,nr_inodes=%d", max(4, used+int64(kilobytes)), s.Files-s.Ffree+uint64(files))
	return syscall.Mount("campaign", d.dir, "tmpfs", syscall.MS_REMOUNT, size)
}

// clear removes all that is on it.
func (d *smallDisk) clear() error {
	entries, err := os.ReadDir(d.dir)
	for _, e := range entries {
		if err == nil {
			err = os.RemoveAll(filepath.Join(d.dir, e.Name()))
		}
	}
	return err
}

func (d *smallDisk) close() { _ = syscall.Unmount(d.dir, syscall.MNT_DETACH) }
