//go:build !linux

package main

import "errors"

// smallDisk is a small disk, which this program makes on Linux alone.
type smallDisk struct{ dir string }

func newDisk(string) (*smallDisk, error) {
	return nil, errors.New("small disks are made on Linux alone")
}

func (*smallDisk) room(kilobytes, files int) error { return nil }

func (*smallDisk) clear() error { return nil }

func (*smallDisk) close() {}
