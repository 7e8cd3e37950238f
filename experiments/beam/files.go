package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"calibra/data"
	"calibra/data/disk"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
)

// Shard is a file of rows. Its number is its place among the sorted names.
type Shard struct {
	Number int64
	Path   string
}

// list finds the files of a pattern.
func list(ctx context.Context, pattern string) ([]Shard, error) {
	if pattern == "" {
		return nil, data.Inputf("", "the pattern of the files is empty; write --in 'rows/part-*.npz', say")
	}
	fs, err := filesystem.New(ctx, pattern)
	if err != nil {
		return nil, data.Inputf("", "%w", err)
	}
	defer fs.Close()
	paths, err := fs.List(ctx, pattern)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", pattern, err)
	}
	if len(paths) == 0 {
		return nil, data.Inputf(pattern, "does not exist, as a file or a pattern of files")
	}
	slices.Sort(paths)
	var shards []Shard
	for i, p := range paths {
		shards = append(shards, Shard{int64(i), p})
	}
	return shards, nil
}

// remote reports whether a path is in a filesystem of Beam's other than this machine's.
func remote(p string) bool { return strings.Contains(p, "://") }

// join is a path below a directory.
func join(dir, name string) string {
	if remote(dir) {
		return strings.TrimSuffix(dir, "/") + "/" + name
	}
	return filepath.Join(dir, name)
}

// base is the name of a file without its directories.
func base(p string) string { return path.Base(filepath.ToSlash(p)) }

// fetched is a copy of a file on this machine, in dir, or the file itself if it is here.
func fetched(ctx context.Context, from, dir string) (string, error) {
	if !remote(from) {
		return from, nil
	}
	fs, err := filesystem.New(ctx, from)
	if err != nil {
		return "", err
	}
	defer fs.Close()
	content, err := filesystem.Read(ctx, fs, from)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", from, err)
	}
	to := filepath.Join(dir, base(from))
	return to, os.WriteFile(to, content, 0o666)
}

// download copies the files of a directory elsewhere to one of this machine.
func download(ctx context.Context, from, to string) error {
	files, err := list(ctx, join(from, "*"))
	for _, file := range files {
		if _, err := fetched(ctx, file.Path, to); err != nil {
			return err
		}
	}
	return err
}

// store writes content to a path of any filesystem, whole or not at all: objects appear
// when they are complete, and a file of this machine takes its place when it is.
func store(ctx context.Context, to string, content []byte) error {
	if !remote(to) {
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return data.Inputf("", "the directory %s cannot be made: %w", filepath.Dir(to), err)
		}
		return disk.WriteBytes(to, content)
	}
	fs, err := filesystem.New(ctx, to)
	if err != nil {
		return err
	}
	defer fs.Close()
	if err := filesystem.Write(ctx, fs, to, content); err != nil {
		return fmt.Errorf("write %s: %w", to, err)
	}
	return nil
}

// storeGob is store of a value as gob.
func storeGob(ctx context.Context, to string, v any) error {
	text, err := encoded(v)
	if err != nil {
		return err
	}
	return store(ctx, to, text)
}

// remove removes a file if it is there.
func remove(ctx context.Context, path string) {
	fs, err := filesystem.New(ctx, path)
	if err != nil {
		return
	}
	defer fs.Close()
	if remover, can := fs.(filesystem.Remover); can {
		remover.Remove(ctx, path) // what stays there harms nobody
	}
}
