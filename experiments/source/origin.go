package source

import (
	"archive/zip"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"calibra/data"
	"calibra/experiments/rowcheck"
)

// Origin is where a study's problems come from: features of a frozen classifier,
// raw rows that an encoder is trained on first, or a synthetic classifier.
type Origin struct {
	Name     string // as Specs name it: "letter", "cifar10-resnet"
	Dataset  string // "cifar10"
	Backbone string // "resnet", or "" where Encoders name it
	// Digest identifies the origin's contents.
	Digest string
	// Encoders are the possible encoders of raw rows; nil if there are features
	// already.
	Encoders []Encoder

	// Notice says what is odd about the rows of raw data, "" if nothing is.
	Notice string

	// Shifts are the shifts that its rows can be judged under, the default first.
	Shifts []Shift

	load loader
	// loadInside is load outside the region of RegionShift, nil where there is none.
	loadInside loader
	seeded     bool // whether the problem depends on the seed
	features   bool // whether it is a features file
	classes    []string
	size       Size // of an origin that is slow to load, else zero; encoders set the features
}

// loader makes the problem of a seed.
type loader func(ctx context.Context, seed uint64, e Encoder) (*Problem, error)

// Size is how large an origin's problem is.
type Size struct {
	Rows     int // of calibration, before the split
	Features int // M
	Classes  int // C
	Tested   int // labelled test rows
}

// Registry knows what an argument may be: data that the program brings, files, and the raw sources that modules from outside
// add, which it lists.
type Registry []data.RawSource

// DataNames are the data that the program brings.
var DataNames = []string{"letter", "satellite", "digits", "cubic", "proximity", "proximity100", "longtail1000", "rare", "calibrated"}

// HasData reports whether arg names data that the program brings, or NAME:REST a source from outside.
func (r Registry) HasData(arg string) bool { return slices.Contains(DataNames, arg) || r.readsRaw(arg) }

// readsRaw reports whether arg names a raw source from outside.
func (r Registry) readsRaw(arg string) bool {
	name, _, ok := strings.Cut(arg, ":")
	return ok && slices.ContainsFunc(r, func(s data.RawSource) bool { return s.Name == name })
}

// OriginSettings describe the data of [Registry.Open] besides their name. The zero value says nothing.
type Settings struct {
	// Shifted, unless "", is an npz features file whose test rows are the shifted ones of a features file.
	Shifted string
	// Scores says what the logits of a features file are; "": what their values look like.
	Scores data.Scores
	// Label and Header describe a csv file of raw rows, see [data.CSV].
	Label  string
	Header data.Header
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
	base, shifted, as := filepath.Base(arg), s.Shifted, s.Scores
	raw := data.RawSettings{Label: s.Label, Header: s.Header}
	var (
		o   *Origin
		err error
	)
	switch {
	case data.EmbeddedTables[arg] != nil, r.readsRaw(arg):
		raw.Sources = r
		o, err = rawOrigin(arg, raw)
	case synthetics[arg].problem != nil:
		o = syntheticOrigin(arg, synthetics[arg])
	case isDir(arg) && !holdsWeather(arg):
		if o, err = weatherOrigin(arg); err != nil { // which says where to get the data
			err = data.Inputf("", "%s: it is not a file but a directory, and has no weather data: %w", arg, err)
		}
	case isDir(arg):
		o, err = weatherOrigin(arg)
	case holdsRaw(arg), strings.HasSuffix(base, ".tar.gz"), strings.HasSuffix(base, "mnist.npz") && isMissing(arg): // which says where to get it
		o, err = rawOrigin(arg, raw, arg)
	case data.NamesFeatures(arg):
		o, err = featuresOrigin(arg, shifted, as)
	case strings.Contains(base, "weather") && isMissing(arg): // likewise
		o, err = weatherOrigin(arg)
	case !isMissing(arg): // of another name, or no file
		o, err = featuresOrigin(arg, shifted, as)
	default:
		names := slices.Concat(DataNames, data.Each(r, func(s data.RawSource) string { return s.Name + ":…" }))
		hint := ""
		if near := data.Nearest(base, names); near != "" {
			hint = "did you mean " + near + "? "
		}
		return nil, data.Inputf(arg, "is not known as data; %sname %s, a file (npz, Parquet, Arrow, csv), a CIFAR archive or a directory", hint, strings.Join(names, ", "))
	}
	if err != nil {
		return nil, err
	}
	if (s.Label != "" || s.Header != "") && o.Encoders == nil {
		return nil, data.Inputf(arg, "is no raw table; --label and --header say how a csv file of one is read")
	}
	if as != "" && !o.features {
		return nil, data.Inputf(arg, "is no features file; --scores says what the logits of one are")
	}
	if shifted != "" && !o.features {
		return nil, data.Inputf(shifted, "cannot be the shifted rows of %s; only a features file takes one", arg)
	}
	return o, nil
}

// Load makes the problem of a seed. The encoder is looked at only where the origin
// has Encoders; "" is the first of them. Under RegionShift the problem has no row of the
// region but its shifted ones; every other shift has the problem of none.
func (o *Origin) Load(ctx context.Context, seed uint64, encoder string, shift Shift) (*Problem, error) {
	if shift != "" && !slices.Contains(o.Shifts, shift) {
		return nil, NoShift(o.Name, shift, o.Shifts)
	}
	var e Encoder
	if o.Encoders != nil {
		i := 0
		if encoder != "" {
			i = slices.IndexFunc(o.Encoders, func(e Encoder) bool { return e.Name == encoder })
		}
		if i < 0 {
			return nil, data.Inputf("", "there is no encoder %q", encoder)
		}
		e = o.Encoders[i]
	}
	if shift == RegionShift {
		return o.loadInside(ctx, seed, e)
	}
	return o.load(ctx, seed, e)
}

// Size is the size of the problem with the encoder's rows.
func (o *Origin) Size(ctx context.Context, encoder string) (Size, error) {
	if size := o.size; size.Rows > 0 {
		for i, e := range o.Encoders {
			if i == 0 || e.Name == encoder {
				size.Features = e.Features()
			}
		}
		return size, nil
	}
	p, err := o.Load(ctx, 0, encoder, "")
	if err != nil {
		return Size{}, err
	}
	return SizeOf(p.Source), nil
}

// SizeOf is the size of a problem.
func SizeOf(src *data.Source) (s Size) {
	s.Classes = src.Classes
	if src.Cal != nil {
		s.Rows = src.Cal.Len()
		if x := src.Cal.Features; x != nil {
			_, s.Features = x.Dims()
		}
	}
	if src.Test != nil && src.Test.Labels != nil {
		s.Tested = src.Test.Len()
	}
	return s
}

// HoldsFeatures reports whether it is a features file.
func (o *Origin) HoldsFeatures() bool { return o.features }

// Features is the problem of a features file, nil of what is none.
func (o *Origin) Features(ctx context.Context) (*Problem, error) {
	if !o.HoldsFeatures() {
		return nil, nil
	}
	return o.load(ctx, 0, Encoder{})
}

// Seeded reports whether Load's problem differs from seed to seed before it is split.
func (o *Origin) Seeded() bool { return o.seeded }

// featuresOrigin reads a features file once; the name of an npz file is DATASET-BACKBONE.npz.
func featuresOrigin(path, shifted string, as data.Scores) (*Origin, error) {
	digest, err := fileDigest(path, shifted)
	if err != nil {
		return nil, err
	}
	load := sync.OnceValues(func() (*Problem, error) {
		p, err := openLabelled(path, as)
		if err != nil {
			return nil, err
		}
		src := p.Source
		if shifted != "" {
			other, err := data.Open(shifted)
			if err != nil {
				return nil, err
			}
			if err := other.Require("test_features", "test_logits", "test_labels"); err != nil {
				return nil, err
			}
			other.Floor = src.Floor
			if err := other.Settle(src.Scores); err != nil {
				return nil, err
			}
			if err := checkWidths(shifted, other.Test, path, src.Test); err != nil {
				return nil, err
			}
			p.Shifted, p.Shift = other.Test, GivenShift
		}
		return p, nil
	})
	o := ofFeatures(path, digest, as, load)
	if shifted != "" {
		o.Shifts = []Shift{GivenShift, ThinShift}
	}
	return o, nil
}

// WholeOrigin is the origin of one labelled set (see [data.OpenWhole]), which folds divide. Its logits are read as as says or, if
// as is "", as their values look.
func OpenWhole(ctx context.Context, path string, as data.Scores) (*Origin, error) {
	src, err := data.OpenWhole(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := src.Settle(as); err != nil {
		return nil, err
	}
	digest, err := data.Digest(path)
	if err != nil {
		return nil, err
	}
	p := &Problem{Source: src, Beside: &rowcheck.Findings{Labels: rowcheck.OtherLabels("rows", src.Cal)}}
	src.Cal.TestWeights, p.Beside.Copies = rowcheck.CountCopies(src.Cal)
	return ofFeatures(path, digest, as, func() (*Problem, error) { return p, nil }), nil
}

// ofFeatures is the origin of a features file, whose cells are others where its logits are read as
// something else.
func ofFeatures(path, digest string, as data.Scores, load func() (*Problem, error)) *Origin {
	if as != "" {
		digest += "-" + string(as)
	}
	o := named(strings.TrimSuffix(filepath.Base(path), ".npz"), digest, load)
	o.features = true
	return o
}

func openLabelled(path string, as data.Scores) (*Problem, error) {
	src, err := data.Open(path)
	if err != nil {
		return nil, err
	}
	if err := src.Require("cal_labels", "test_labels"); err != nil {
		return nil, err
	}
	if err := src.Settle(as); err != nil {
		return nil, err
	}
	beside := rowcheck.Find(src)
	return &Problem{Source: src, Beside: &beside}, nil
}

// named is the origin of one problem, whatever the seed.
func named(name, digest string, load func() (*Problem, error)) *Origin {
	o := &Origin{Name: name, Digest: digest, Shifts: []Shift{ThinShift}}
	o.Dataset, o.Backbone, _ = strings.Cut(name, "-")
	o.Dataset = calledInTables(o.Dataset)
	o.load = func(context.Context, uint64, Encoder) (*Problem, error) { return load() }
	return o
}

// calledInTables is a data set as the paper's tables call it.
func calledInTables(dataset string) string {
	if dataset == "tissuemnist" {
		return "tissue"
	}
	return dataset
}

// knownClasses names the classes of data sets whose feature files hold numbers.
var knownClasses = map[string][]string{
	"cifar10": {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"},
}

func holdsWeather(dir string) bool { return !isMissing(data.WeatherFile(dir, data.WeatherParts[0])) }

// checkWidths returns an *InputError unless the rows of two files have as many logits and
// features.
func checkWidths(path string, rows *data.Set, other string, with *data.Set) error {
	if a, b := rows.Classes(), with.Classes(); a != b {
		return data.Inputf(path, "has logits of %d classes, %s of %d; they must have the same", a, filepath.Base(other), b)
	}
	width := func(s *data.Set) int {
		if s.Features == nil {
			return 0
		}
		_, m := s.Features.Dims()
		return m
	}
	if a, b := width(rows), width(with); a != b {
		return data.Inputf(path, "has %d features a row, %s has %d; they must have the same", a, filepath.Base(other), b)
	}
	return nil
}

// Makes reports whether [Registry.Open] makes the rows that arg names, features of raw rows or a synthetic
// problem, where a features file would have them already.
func (r Registry) Makes(arg string) bool {
	if r.HasData(arg) && isMissing(arg) {
		return true
	}
	return holdsRaw(arg) || isDir(arg) && holdsWeather(arg)
}

// holdsRaw reports whether path is a file of raw rows.
func holdsRaw(path string) bool {
	base := filepath.Base(path)
	switch {
	case strings.HasSuffix(base, ".tar.gz"):
		return !isMissing(path)
	case strings.HasSuffix(base, ".csv"), strings.HasSuffix(base, ".csv.gz"):
		return data.HoldsRaw(path)
	}
	return holdsImages(path)
}

// holdsImages reports whether path is an npz file of MedMNIST's layout.
func holdsImages(path string) bool {
	file, err := data.OpenFile(path)
	if err != nil {
		return false
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return false
	}
	z, err := zip.NewReader(file, info.Size())
	return err == nil && slices.ContainsFunc(z.File, func(f *zip.File) bool { return f.Name == "train_images.npy" })
}

func isMissing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// fileDigest is the digest of the files; "" is no file.
func fileDigest(paths ...string) (string, error) {
	named := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return path == "" })
	digest, err := data.Digest(named...)
	var input *data.InputError
	if errors.Is(err, fs.ErrNotExist) && errors.As(err, &input) {
		return "", data.Inputf(input.Path, "does not exist; name an npz file with the arrays cal_features, cal_logits, cal_labels and the same of test, or one of letter, satellite, digits, cubic, proximity, proximity100, longtail1000, rare, calibrated")
	}
	return digest, err
}

// Classes are the names of the classes, nil where they have none.
func (o *Origin) Classes() []string {
	if o.classes != nil {
		return o.classes
	}
	if p, err := o.Features(context.Background()); err == nil && p != nil && p.Source.Cal.Names.Classes != nil {
		return p.Source.Cal.Names.Classes
	}
	return knownClasses[o.Dataset]
}
