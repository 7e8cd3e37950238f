package main

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"calibra/data"
)

// folder is where pages and result files are, below the root of the repository.
const folder = "experiments/results"

// fillers write the text of each mark from the result files in dir.
var fillers = map[string]func(dir string, a arguments) (string, error){
	"table":       tableOf,
	"lines":       linesOf,
	"differences": differencesOf,
}

// File is a file that is generated, in part or in whole.
type File struct {
	Path    string
	Content []byte
	Stale   []string // the parts that differ from the file on disk; nil if none do
}

// Generate makes README.md and the pages as they should be, for the repository at root, and
// returns the stale parts.
func Generate(root string) ([]File, error) {
	dir := filepath.Join(root, folder)
	pages, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		return nil, err
	}
	var files []File
	for _, path := range append([]string{filepath.Join(root, "README.md")}, pages...) {
		old, err := data.ReadFile(path)
		if err != nil {
			return nil, data.Inputf(path, "cannot be read: %w; run this in the repository, or name its --root", err)
		}
		page := File{Path: path}
		if page.Content, page.Stale, err = fill(dir, old); err == nil {
			err = checkNumbers(page.Content)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		files = append(files, page)
	}
	return files, nil
}

const (
	begin = "<!-- calibra:"
	close = " -->\n"
	end   = "<!-- calibra:end -->"
)

// fill writes what each mark of the text requests and names the marks whose text changed.
func fill(dir string, text []byte) (out []byte, stale []string, err error) {
	for {
		before, rest, found := bytes.Cut(text, []byte(begin))
		out = append(out, before...)
		if !found {
			return out, stale, nil
		}
		mark, rest, ok := bytes.Cut(rest, []byte(close))
		name, words, _ := strings.Cut(string(mark), " ")
		filler := fillers[name]
		if !ok || filler == nil {
			return nil, nil, fmt.Errorf("there is no mark %.40q; a mark is one of %v", mark, slices.Sorted(maps.Keys(fillers)))
		}
		old, rest, ok := bytes.Cut(rest, []byte(end))
		if !ok || bytes.Contains(old, []byte(begin)) {
			return nil, nil, fmt.Errorf("the mark %s has no %q", mark, end)
		}
		a, err := parse(words)
		if err != nil {
			return nil, nil, fmt.Errorf("the mark %s: %w", mark, err)
		}
		part, err := filler(dir, a)
		if err != nil {
			return nil, nil, fmt.Errorf("the mark %s: %w", mark, err)
		}
		if string(old) != part {
			stale = append(stale, name+" "+a["file"]+a["section"])
		}
		out = fmt.Appendf(out, "%s%s%s%s%s", begin, mark, close, part, end)
		text = rest
	}
}

// arguments are those of a mark, by key; a word without a value is "true".
type arguments map[string]string

func (a arguments) has(key string) bool { return a[key] != "" }

// argumentKeys are all that a mark may have.
var argumentKeys = []string{"file", "rows", "values", "columns", "value", "where", "best", "spread", "head", "heads", "as", "decimals", "beside", "median", "section"}

// parse reads "file=main.csv head=\"two words\" spread".
func parse(text string) (arguments, error) {
	a := arguments{}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		at := strings.IndexAny(text, "= ")
		if at < 0 || text[at] == ' ' {
			word, rest, _ := strings.Cut(text, " ")
			a[word], text = "true", rest
			continue
		}
		key, value := text[:at], text[at+1:]
		stop := " "
		if quoted, ok := strings.CutPrefix(value, `"`); ok {
			value, stop = quoted, `"`
		}
		a[key], text, _ = strings.Cut(value, stop)
	}
	for key := range a {
		if !slices.Contains(argumentKeys, key) {
			return nil, fmt.Errorf("there is no %q; it may say %v", key, argumentKeys)
		}
	}
	return a, nil
}
