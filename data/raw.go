package data

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Raw is a problem before any classifier saw it. Some rows train a classifier and stop
// its training; a calibrator is fitted to and judged on the others. There is one division
// for each kind of source, see [OpenRaw].
type Raw struct {
	Name    string
	Classes []string
	Train   *Inputs
	Val     *Inputs // nil if the source has none of its own, see [Raw.HoldBack]
	Cal     *Inputs
	Test    *Inputs
	Shifted *Inputs // rows of another distribution; nil if the data bring none
	// Columns are the columns of a table and how they are read; nil for images.
	Columns []RawColumn
	Notice  string // what is odd about the rows, "" if nothing is
}

// RawSettings chooses how raw data are divided. The zero value holds nothing out.
type RawSettings struct {
	// HeldOut is the share of a table's rows, all from one region of its columns,
	// that are kept apart as shifted rows.
	HeldOut float64
	// Label is the name of a csv file's label column; "" is the last.
	Label string
	// Header reports whether a csv file has one.
	Header Header
	// Columns say how a table's columns are read: as for the encoder that was trained on
	// them. nil: as the training rows say.
	Columns []RawColumn
	// LongTail is ρ ≥ 1 of rows that become rarer from class to class, see [OpenRaw]; 0: all rows stay.
	LongTail float64
	// Sources are the sources of other modules, by name.
	Sources []RawSource
}

// RawSource is raw data that this package does not know how to read: arg NAME:REST of [OpenRaw]
// is read by the source of that name.
type RawSource struct {
	Name string // without a colon
	Line string // what it is, in one line
	// Open reads the rows that rest names and divides them, the rows of a table by [Table.Divide].
	// The same rest and rng give the same rows.
	Open func(rest string, s RawSettings, rng *rand.Rand) (*Raw, error)
}

// source is that of the name that arg begins with; rest is what follows its colon.
func (s RawSettings) source(arg string) (source *RawSource, rest string) {
	name, rest, ok := strings.Cut(arg, ":")
	i := slices.IndexFunc(s.Sources, func(source RawSource) bool { return ok && source.Name == name })
	if i < 0 {
		return nil, arg
	}
	return &s.Sources[i], rest
}

// AbsoluteRaw is arg with its path made absolute, where it names a file or a directory.
func AbsoluteRaw(arg string, sources []RawSource) (string, error) {
	source, path := RawSettings{Sources: sources}.source(arg)
	if _, err := os.Stat(path); err != nil {
		return arg, nil
	}
	path, err := filepath.Abs(path)
	if err != nil || source == nil {
		return path, err
	}
	return source.Name + ":" + path, nil
}

// tableFractions divides a raw table, by [Stratify], into rows that train, that
// calibrate and that test.
var tableFractions = []float64{0.4, 0.3, 0.3}

// heldBack is the share of the training rows that [Raw.HoldBack] takes.
const heldBack = 0.2

// OpenRaw reads and divides raw data. arg is one of
//
//	letter satellite digits   the embedded tables
//	F.csv F.csv.gz            a labelled table of numbers and text
//	cifar-10-binary.tar.gz    CIFAR images (cifar-100-binary.tar.gz too)
//	F.npz                     a MedMNIST file
//	DIR                       the Shifts weather data
//	NAME:REST                 what the source of that name among s.Sources reads
//
// and is divided into rows that
//
//	             train                validate     calibrate    test                 are shifted
//	tables       40 %                 –            30 %         30 %                 the region held out, if any
//	CIFAR        45 % of training     10 % of it   test images  45 % of training     –
//	MedMNIST     50 % of training     validation   test images  50 % of training     –
//	weather      train                –            dev_in       eval_in              eval_out
//
// [RawSettings.LongTail] thins the rows that train, validate and calibrate, as CIFAR-10-LT is thinned, and leaves those
// that test.
//
// What the training rows have in the columns of a table decides what a network reads of them, see [RawColumn]; of the
// embedded tables it reads every column as it is. The same rng gives the same rows: pretrain
// and encode make with a seed the calibration and test rows that a study has with it.
// Whatever is wrong with a file is an *InputError.
func OpenRaw(arg string, s RawSettings, rng *rand.Rand) (*Raw, error) {
	if s.LongTail != 0 && !(s.LongTail >= 1 && s.LongTail <= math.MaxFloat64) {
		return nil, Inputf("", "the ratio of the most frequent class to the rarest must be 1 or more, not %v", s.LongTail)
	}
	if !(s.HeldOut >= 0 && s.HeldOut <= 0.5) {
		return nil, Inputf("", "the share of rows held out as shifted must lie in 0…0.5, not %v", s.HeldOut)
	}
	open := openRaw
	if source, rest := s.source(arg); source != nil {
		open, arg = source.open, rest
	}
	r, err := open(arg, s, rng)
	if err != nil {
		return nil, err
	}
	if err := r.check(); err != nil || s.LongTail == 0 {
		return r, err
	}
	r.Name += fmt.Sprintf("-lt%g", s.LongTail)
	for _, part := range []**Inputs{&r.Train, &r.Val, &r.Cal} {
		if *part != nil {
			*part = (*part).thin(len(r.Classes), s.LongTail, rng)
		}
	}
	return r, nil
}

// thin is the rows with a long tail of classes as CIFAR-10-LT has it (Cao et al. 2019): of class c, by its number,
// n·ρ^(−c/(C−1)) of them stay, rounded down but at least one, for n the mean of the classes' counts; a class that has
// fewer keeps all. There, the test rows stay as they are; here, those that train, validate and calibrate are thinned.
func (in *Inputs) thin(classes int, ratio float64, rng *rand.Rand) *Inputs {
	left := make([]int, classes)
	for c := range left {
		share := math.Pow(ratio, -float64(c)/float64(classes-1))
		left[c] = max(1, int(float64(in.Len())/float64(classes)*share))
	}
	var kept []int
	for _, i := range rng.Perm(in.Len()) {
		if y := in.Labels[i]; left[y] > 0 {
			left[y]--
			kept = append(kept, i)
		}
	}
	slices.Sort(kept)
	return in.Rows(kept)
}

// open is Open, whose rows must be there.
func (s RawSource) open(rest string, settings RawSettings, rng *rand.Rand) (*Raw, error) {
	r, err := s.Open(rest, settings, rng)
	if err == nil && (r == nil || r.Train == nil || r.Cal == nil || r.Test == nil) {
		err = fmt.Errorf("the Open of the raw source %s gives no rows, and no error: it must give those that train, calibrate and test, as Table.Divide does", s.Name)
	}
	return r, err
}

// openRaw reads what this package knows.
func openRaw(arg string, s RawSettings, rng *rand.Rand) (*Raw, error) {
	base := filepath.Base(arg)
	switch info, err := os.Stat(arg); {
	case EmbeddedTables[arg] != nil && s.Label == "" && s.Header == "":
		if s.Columns == nil {
			s.Columns = AsTheyAre // as in what has been published of them
		}
		return EmbeddedTables[arg]().divide(s, rng)
	case strings.HasSuffix(base, ".csv"), strings.HasSuffix(base, ".csv.gz"):
		t, err := CSV{Label: s.Label, Header: s.Header, Columns: s.Columns}.Open(arg)
		if err != nil {
			return nil, err
		}
		t.Name = strings.TrimSuffix(strings.TrimSuffix(base, ".gz"), ".csv")
		return t.divide(s, rng)
	case s.Label != "":
		return nil, Inputf(arg, "is not a csv file; --label names a column of a csv file")
	case s.Header != "":
		return nil, Inputf(arg, "is not a csv file; --header is of one")
	case s.HeldOut != 0:
		return nil, Inputf(arg, "is not a table; --held-out sets aside a region of a table")
	case strings.HasSuffix(base, ".tar.gz"):
		kind := cifar10
		if strings.Contains(base, "100") {
			kind = cifar100
		}
		train, test, err := openCIFAR(arg, kind)
		if err != nil {
			return nil, err
		}
		return rawImages(train, nil, test, trainingFractions, rng), nil
	case strings.HasSuffix(base, ".npz"):
		train, val, test, err := openMedMNIST(arg)
		if err != nil {
			return nil, err
		}
		return rawImages(train, val, test, []float64{0.5, 0.5}, rng), nil
	case err == nil && info.IsDir(), err != nil && strings.Contains(base, "weather"): // whose error names where to get it
		return rawWeather(arg)
	case err != nil:
		return nil, Inputf(arg, "cannot be opened: %w", err)
	}
	return nil, Inputf(arg, "holds no raw data this program knows; name letter, satellite, digits, a csv file, a CIFAR archive, a MedMNIST npz or a directory of weather data")
}

// check returns an *InputError where a part has no rows, or there are no classes to
// distinguish.
func (r *Raw) check() error {
	rows, least := 0, 1
	for _, part := range []*Inputs{r.Train, r.Val, r.Cal, r.Test} {
		if part != nil {
			rows, least = rows+part.Len(), min(least, part.Len())
		}
	}
	switch {
	case least == 0:
		return Inputf("", "%s has %d rows, too few to train, calibrate and test on", r.Name, rows)
	case r.Shifted != nil && r.Shifted.Len() == 0:
		return Inputf("", "%s has %d rows, and the share held out as shifted is less than one row; hold out more", r.Name, rows)
	case len(r.Classes) < 2:
		return Inputf("", "%s has rows of one class, %.40q; a classifier tells at least two apart", r.Name, r.Classes)
	}
	return nil
}

// HoldBack makes a fifth of the training rows validation rows where the source has none.
func (r *Raw) HoldBack(rng *rand.Rand) error {
	if r.Val != nil {
		return nil
	}
	parts := Stratify(r.Train.Labels, []float64{1 - heldBack, heldBack}, rng)
	if len(parts[0]) == 0 || len(parts[1]) == 0 {
		return Inputf("", "%s has %d training rows, too few to validate on some of them", r.Name, r.Train.Len())
	}
	r.Val, r.Train = r.Train.Rows(parts[1]), r.Train.Rows(parts[0])
	return nil
}

// Divide is the division of a table.
func (t *Table) Divide(s RawSettings, rng *rand.Rand) (*Raw, error) {
	r, err := t.divide(s, rng)
	if err != nil {
		return nil, err
	}
	return r, r.check()
}

func (t *Table) divide(s RawSettings, rng *rand.Rand) (*Raw, error) {
	if n, _ := t.Features.Dims(); n != len(t.Labels) {
		return nil, fmt.Errorf("the table %s has %d rows and %d labels; each row must have one", t.Name, n, len(t.Labels))
	}
	if i := InvalidLabel(t.Labels, len(t.Classes)); i >= 0 {
		return nil, fmt.Errorf("row %d of the table %s has the label %d; labels are places in its %d classes, from 0", i+1, t.Name, t.Labels[i], len(t.Classes))
	}
	r := &Raw{Name: t.Name, Classes: t.Classes}
	inside := UpTo(t.Len())
	var region []int
	if s.HeldOut > 0 {
		var err error
		if inside, region, err = t.holdOut(s.HeldOut); err != nil {
			return nil, err
		}
	}
	parts := Stratify(at(t.Labels, inside), tableFractions, rng)
	for k := range parts {
		parts[k] = at(inside, parts[k])
	}
	in, err := t.inputs(r, s.Columns, parts[0])
	if err != nil {
		return nil, err
	}
	for k, dst := range []**Inputs{&r.Train, &r.Cal, &r.Test} {
		*dst = in.Rows(parts[k])
	}
	if s.HeldOut > 0 {
		r.Shifted = in.Rows(region)
	}
	return r, nil
}

// inputs are the table's rows as a network reads these columns, nil: what the rows that train say, which it puts into
// r with what is odd about the rows.
func (t *Table) inputs(r *Raw, columns []RawColumn, train []int) (in *Inputs, err error) {
	switch {
	case columns == nil:
		columns = t.columnsBy(train)
	case len(columns) == 0: // AsTheyAre
		columns = t.numbers()
	}
	in, unknown, err := t.as(columns)
	if r.Columns, r.Notice = columns, also(t.Notice, constants(columns)); unknown != "" {
		r.Notice = also(r.Notice, "some rows have what no training row has, which is read as none of its values: "+unknown)
	}
	return in, err
}

// also is a notice and another.
func also(notice, more string) string {
	if notice == "" || more == "" {
		return notice + more
	}
	return notice + "; " + more
}

// rawImages divides the training images by the fractions into those that train, that validate, where
// val is nil, and that test. The test images calibrate.
func rawImages(train, val, test *Inputs, fractions []float64, rng *rand.Rand) *Raw {
	parts := Stratify(train.Labels, fractions, rng)
	if val == nil {
		val = train.Rows(parts[1])
	}
	return &Raw{Name: train.Name, Classes: train.Classes, Train: train.Rows(parts[0]), Val: val, Cal: test, Test: train.Rows(parts[len(parts)-1])}
}

// rawWeather draws the same rows of each part whatever the seed.
func rawWeather(dir string) (*Raw, error) {
	t, err := openWeather(dir, WeatherParts, weatherRows, rand.New(rand.NewPCG(0, 1)))
	if err != nil {
		return nil, err
	}
	return &Raw{Name: "weather", Classes: t[0].Classes,
		Train: t[0].Inputs(), Cal: t[1].Inputs(), Test: t[2].Inputs(), Shifted: t[3].Inputs()}, nil
}

// WeatherParts are the parts of the weather data that are read.
var WeatherParts = []string{"train", "dev_in", "eval_in", "eval_out"}

// WeatherFile is the file of a part.
func WeatherFile(dir, part string) string {
	return filepath.Join(dir, "shifts_canonical_"+part+".csv")
}

// trainingFractions divides the official training split of an image data set, by
// [Stratify], into the rows that train the classifier, that validate it, and that
// are held out to judge calibrators on; the official test split is the
// calibration set. Both the paper's text and the code behind its tables do this
// to CIFAR; of TissueMNIST, whose validation split is official, half is held out.
var trainingFractions = []float64{0.45, 0.10, 0.45}

// openOr opens path; where nothing is there, the error gives the remedy.
func openOr(path, remedy string, args ...any) (*os.File, error) {
	f, err := OpenFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Inputf(path, "does not exist; %s (%w)", fmt.Sprintf(remedy, args...), os.ErrNotExist)
	}
	return f, err
}

// holdOut divides the table's rows by a region of its columns: region is the share
// of the rows that lie farthest along the first principal component of the
// standardized columns, inside all others; both ascend. A classifier and a
// calibrator that see the inside alone are judged out of distribution on the
// region. The direction points to where the component's largest loading is
// positive, so the same table always gives the same rows. They are other rows, not
// always harder ones: classes lie apart at the bright end of satellite.
func (t *Table) holdOut(share float64) (inside, region []int, err error) {
	in, _, err := t.as(t.columnsBy(UpTo(t.Len())))
	if err != nil {
		return nil, nil, err
	}
	embed, err := FitEmbedding(in.table, 1)
	if err != nil {
		return nil, nil, err
	}
	z := embed.Apply(in.table)
	order := UpTo(t.Len())
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(z.At(i, 0), z.At(j, 0)) })
	cut := t.Len() - int(share*float64(t.Len()))
	inside, region = order[:cut], order[cut:]
	slices.Sort(inside)
	slices.Sort(region)
	return inside, region, nil
}
