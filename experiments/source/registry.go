package source

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"calibra/data"
	"calibra/data/synthetic"
)

// Registry knows what an argument may be: data that the program brings, files, and the raw sources that modules from
// outside add, which it lists.
type Registry []data.RawSource

// brought are the data that the program brings, by name: embedded tables, and problems of known posterior.
var brought = []struct {
	name string
	made generated // zero of a table
}{
	{name: "letter"}, {name: "satellite"}, {name: "digits"},
	{"cubic", generated{synthetic.NewCubic, 4, usual}}, {"proximity", generated{synthetic.NewProximity, 4, usual}},
	{"proximity100", generated{synthetic.NewProximity, 100, usual}},
	{"longtail1000", generated{synthetic.NewLongTail, 1000, many}},
	{"rare", generated{synthetic.NewRare, 4, usual}}, {"calibrated", generated{synthetic.NewCalibrated, 4, usual}},
}

// HasData reports whether arg names data that the program brings, or NAME:REST a source from outside.
func (r Registry) HasData(arg string) bool {
	name, _, ok := strings.Cut(arg, ":")
	outside := ok && slices.ContainsFunc(r, func(s data.RawSource) bool { return s.Name == name })
	return outside || slices.Contains(names(), arg)
}

// names are those of the data that the program brings.
func names() (all []string) {
	for _, b := range brought {
		all = append(all, b.name)
	}
	return all
}

// Makes reports whether [Registry.Open] makes the rows that arg names, features of raw rows or a synthetic
// problem, where a features file would have them already.
func (r Registry) Makes(arg string) bool {
	if r.HasData(arg) && isMissing(arg) {
		return true
	}
	return holdsRaw(arg) || isDir(arg) && holdsWeather(arg)
}

// Settings describe the data of [Registry.Open] besides their name. The zero value says nothing.
type Settings struct {
	// Shifted, unless "", is an npz features file whose test rows are the shifted ones of a features file.
	Shifted string
	// Scores says what the logits of a features file are; "": what their values look like.
	Scores data.Scores
	// Label and Header describe a csv file of raw rows, see [data.CSV].
	Label  string
	Header data.Header
	// LongTail thins the classes of raw rows, see [data.RawSettings].
	LongTail float64
}

// Open finds the origin that arg names:
//
//	letter satellite digits     the embedded tables, encoded
//	cubic proximity             synthetic classifiers of known posterior, 4 classes
//	proximity100                the second with 100
//	longtail1000                likewise 1,000, most of them rare
//	rare calibrated             wrong in rare regions alone, and right everywhere
//	F.npz F.parquet F.csv …     features of any backbone
//	F.npz                       a MedMNIST file, encoded
//	cifar-10-binary.tar.gz      CIFAR images, encoded (cifar-100-binary.tar.gz too)
//	F.csv F.csv.gz              a labelled table without logits, encoded
//	DIR                         the Shifts weather data
//	NAME:REST                   rows of a raw source of the registry, encoded
//
// Whatever is wrong with a file is a *data.InputError that states where to get it.
func (r Registry) Open(arg string, s Settings) (*Origin, error) {
	o, err := r.open(arg, s)
	if err != nil {
		return nil, err
	}
	if (s.Label != "" || s.Header != "") && o.Encoders == nil {
		return nil, data.Inputf(arg, "is no raw table; --label and --header say how a csv file of one is read")
	}
	if s.LongTail != 0 && o.Encoders == nil {
		return nil, data.Inputf(arg, "holds no raw rows; --long-tail thins the classes of such rows before a network is trained on them")
	}
	if s.Scores != "" && !o.features {
		return nil, data.Inputf(arg, "is no features file; --scores says what the logits of one are")
	}
	if s.Shifted != "" && !o.features {
		return nil, data.Inputf(s.Shifted, "cannot be the shifted rows of %s; only a features file takes one", arg)
	}
	return o, nil
}

// open finds what arg names: what is known by name, then what is there by its content, then what is not there by what
// the name promises, whose error says where to get it.
func (r Registry) open(arg string, s Settings) (*Origin, error) {
	raw := data.RawSettings{Label: s.Label, Header: s.Header, LongTail: s.LongTail, Sources: r}
	if at := slices.Index(names(), arg); at >= 0 && brought[at].made.problem != nil {
		return syntheticOrigin(arg, brought[at].made), nil
	}
	base := filepath.Base(arg)
	switch {
	case r.HasData(arg):
		return rawOrigin(arg, raw)
	case isDir(arg):
		o, err := weatherOrigin(arg, raw)
		if err != nil && !holdsWeather(arg) {
			err = data.Inputf("", "%s: it is not a file but a directory, and has no weather data: %w", arg, err)
		}
		return o, err
	case holdsRaw(arg):
		return rawOrigin(arg, raw, arg)
	case !isMissing(arg):
		return featuresOrigin(arg, s)
	case strings.HasSuffix(base, ".tar.gz"), strings.HasSuffix(base, "mnist.npz"):
		return rawOrigin(arg, raw, arg)
	case data.NamesFeatures(arg):
		return featuresOrigin(arg, s)
	case strings.Contains(base, "weather"):
		return weatherOrigin(arg, raw)
	}
	known := slices.Concat(names(), data.Each(r, func(s data.RawSource) string { return s.Name + ":…" }))
	hint := ""
	if near := data.Nearest(base, known); near != "" {
		hint = "did you mean " + near + "? "
	}
	return nil, data.Inputf(arg, "is not known as data; %sname %s, a file (npz, Parquet, Arrow, csv), a CIFAR archive or a directory",
		hint, strings.Join(known, ", "))
}

func holdsWeather(dir string) bool { return !isMissing(data.WeatherFile(dir, data.WeatherParts[0])) }

// holdsRaw reports whether path is a file of raw rows.
func holdsRaw(path string) bool {
	base := filepath.Base(path)
	switch {
	case strings.HasSuffix(base, ".tar.gz"):
		return !isMissing(path)
	case strings.HasSuffix(base, ".csv"), strings.HasSuffix(base, ".csv.gz"):
		return data.HoldsRaw(path)
	case strings.HasSuffix(base, ".npz"): // of MedMNIST's layout
		has, err := data.HasArray(path, "train_images")
		return err == nil && has
	}
	return false
}

func isMissing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
