package study

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"calibra/data"
)

// GridSuffix ends the names of the files in a directory of cells that list which cells are wanted.
const GridSuffix = ".grid"

// Grid is what a process records of the cells that it wants, before it begins.
type Grid struct {
	Cells []Wanted  `json:"cells"`
	Begun time.Time `json:"-"` // when the file was written
}

// Wanted is a cell of a Grid.
type Wanted struct {
	Key  string  `json:"key"`
	Data string  `json:"data"`
	Name string  `json:"name"`
	Cost float64 `json:"seconds"` // that it is expected to take
	Done bool    `json:"done"`    // it was there already
}

// path is the file of the grid in a directory of cells.
func (g *Grid) path(dir string) string {
	h := sha256.New()
	for _, c := range g.Cells {
		h.Write([]byte(c.Key))
	}
	return filepath.Join(dir, hex.EncodeToString(h.Sum(nil))[:keyDigits]+GridSuffix)
}

// gridOf is the grid of some tasks; where nobody knows how long they take, they take alike.
func gridOf(tasks []Task) *Grid {
	return &Grid{Cells: data.Each(tasks, func(t Task) Wanted {
		return Wanted{Key: t.ID, Data: t.Data, Name: cmp.Or(t.title, t.Cell), Cost: cmp.Or(t.Seconds, 1), Done: t.Done}
	})}
}

// ReadGrid reads the grid in a file below root.
func ReadGrid(root *os.Root, name string) (*Grid, error) {
	g := &Grid{}
	info, err := root.Stat(name)
	if err != nil {
		return nil, data.Inputf(name, "cannot be read: %w", err)
	}
	g.Begun = info.ModTime()
	return g, readIn(root, name, g)
}

// ReadCell reads the result in a file below root.
func ReadCell(root *os.Root, name string) (*Result, error) {
	r := &Result{}
	return r, readIn(root, name, r)
}

func readIn(root *os.Root, name string, into any) error {
	text, err := data.ReadIn(root, name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return data.Inputf(name, "is no file of a study: %w", err)
	}
	return nil
}

// keyDigits are those of a cell's key.
const keyDigits = 20

// IsCell reports whether a file of that name is the result of a cell.
func IsCell(name string) bool {
	key, json := strings.CutSuffix(name, ".json")
	return json && len(key) == keyDigits && strings.Trim(key, "0123456789abcdef") == ""
}
