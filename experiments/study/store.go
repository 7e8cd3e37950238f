package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/program"
)

// Store is a directory of computed cells, which studies may share, and processes on many machines: every file takes its
// place whole, so that there is nothing to lock. A file is named by the cell's key and records inside which program
// made it, of which code. What another program made of other code is stale: it is computed again.
type Store struct {
	Dir     string
	Program program.Program // that computes, and whose results are not stale
	Accept  bool            // takes stale results
}

// OpenStore is the store in dir of the program that runs. The directory need not be there.
func OpenStore(dir string) (Store, error) {
	program, err := program.ThisProgram()
	return Store{Dir: dir, Program: program}, err
}

// find is the result of a cell that may be used, nil if it is still to be computed, and
// whether a stale one is there.
func (st Store) find(c Cell) (r *Result, stale bool, err error) {
	r = &Result{}
	switch err := readJSON(st.path(c), r); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case st.stale(c, r) && !st.Accept:
		return nil, true, nil
	}
	return r, st.stale(c, r), nil
}

// stale reports whether another program computed the result of the cell, of other code or with other products.
func (st Store) stale(c Cell, r *Result) bool {
	same := r.Program.Digest == st.Program.Digest || c.Code != "" && r.Code == c.Code
	return !same || r.Program.Products != st.Program.Products
}

func (st Store) path(c Cell) string { return filepath.Join(st.Dir, c.Key+".json") }

// write keeps the result. One that another process has kept meanwhile is the same and stays.
func (st Store) write(c Cell, r *Result) error {
	if there, _, err := st.find(c); err != nil || there != nil {
		return err
	}
	for {
		err := writeJSON(st.path(c), r)
		if _, missing := os.Stat(st.Dir); !errors.Is(err, fs.ErrNotExist) || missing == nil {
			return err
		}
		if err := makeDir(st.Dir); err != nil { // another process removed it, which had nothing to keep
			return err
		}
	}
}

// makeDir makes a directory of cells, unless it is there.
func makeDir(dir string) error {
	if err := disk.MkdirAll(dir); err != nil {
		return data.Inputf("", "the directory %s of the cells cannot be made: %w", dir, err)
	}
	return nil
}

func readJSON(path string, into any) error {
	text, err := data.ReadConfiguration(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return data.Inputf(path, "is no file of a study (%w); delete it", err)
	}
	return nil
}

func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Errorf("study: write %s: %w", path, err)
	}
	return disk.WriteBytes(path, append(text, '\n'))
}
