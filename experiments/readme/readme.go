package readme

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"calibra/data"
)

// results is where the result files are, below the root of the repository.
const results = "experiments/readme/results"

// region is a part of README.md between marks.
type region struct {
	name string
	text func(dir string) (string, error) // from the files in dir
}

var regions = []region{
	{"quickstart", quickstart},
	{"reference", reference},
	{"compare", compared},
	{"claims", claims},
	{"calsize", calibrationSize},
	{"answers", answers},
	{"beyond", beyond},
	{"lost", lost},
	{"variants", variants},
	{"benchmark", benchmark},
	{"truth", truth},
	{"bench", benchmarks},
}

// File is a file that is generated, in part or in whole.
type File struct {
	Path    string
	Content []byte
	Stale   []string // what of it differs from the file on disk; nil if nothing
}

// Generate makes README.md and its pictures as they should be, for the repository at
// root, and says what of them is stale. README.md must have every region once.
func Generate(root string) ([]File, error) {
	dir := filepath.Join(root, results)
	text := File{Path: filepath.Join(root, "README.md")}
	old, err := os.ReadFile(text.Path)
	if err != nil {
		return nil, data.Inputf(text.Path, "cannot be read: %w; run this in the repository, or name its --root", err)
	}
	parts := map[string]string{}
	for _, r := range regions {
		if parts[r.name], err = r.text(dir); err != nil {
			return nil, fmt.Errorf("region %s: %w", r.name, err)
		}
	}
	if text.Content, text.Stale, err = fill(old, parts); err != nil {
		return nil, fmt.Errorf("%s: %w", text.Path, err)
	}
	picture := File{Path: filepath.Join(root, "experiments", "readme", "calsize.svg")}
	if picture.Content, err = calibrationSizePicture(dir); err != nil {
		return nil, err
	}
	if old, err := os.ReadFile(picture.Path); err != nil || !bytes.Equal(old, picture.Content) {
		picture.Stale = []string{"the picture"}
	}
	return []File{text, picture}, nil
}

const (
	begin = "<!-- calibra:begin "
	close = " -->\n"
	end   = "<!-- calibra:end -->"
)

// fill puts the parts into their regions of text and names those that it changed.
func fill(text []byte, parts map[string]string) (out []byte, stale []string, err error) {
	var seen []string
	for {
		before, rest, found := bytes.Cut(text, []byte(begin))
		out = append(out, before...)
		if !found {
			break
		}
		name, rest, ok := bytes.Cut(rest, []byte(close))
		part, known := parts[string(name)]
		if !ok || !known {
			return nil, nil, fmt.Errorf("there is no region %.40q; it is one of %v", name, names())
		}
		old, rest, ok := bytes.Cut(rest, []byte(end))
		if !ok || bytes.Contains(old, []byte(begin)) {
			return nil, nil, fmt.Errorf("region %s has no %q", name, end)
		}
		if slices.Contains(seen, string(name)) {
			return nil, nil, fmt.Errorf("region %s is there twice", name)
		}
		seen = append(seen, string(name))
		if string(old) != part {
			stale = append(stale, "region "+string(name))
		}
		out = fmt.Appendf(out, "%s%s%s%s%s", begin, name, close, part, end)
		text = rest
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if !slices.Contains(seen, name) {
			return nil, nil, fmt.Errorf("region %s is missing; put %q and %q where it belongs", name, begin+name+" -->", end)
		}
	}
	return out, stale, nil
}

func names() []string {
	var out []string
	for _, r := range regions {
		out = append(out, r.name)
	}
	return out
}
