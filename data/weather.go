package data

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"
)

// weatherRows bounds the parts, as the paper does: it has about 100,000 training,
// 40,000 dev_in and 100,000 evaluation rows.
const weatherRows = 100_000

// openWeather reads parts of the canonical partition of the Shifts weather data
// (Malinin et al. 2021): the named ones of train, dev_in, dev_out, eval_in and
// eval_out, from dir/shifts_canonical_PART.csv. The label is fact_cwsm_class; the
// first six columns are not features. Calibration is fitted on dev_in and
// judged on eval_in, and on eval_out for shift.
//
// Rows that lack a value are left out, among them the averaged rows that the
// partition adds to the training part, and those of other classes than the five most frequent of the training part: the
// paper keeps five and does not say which. Each part is a uniform sample of at most so many rows. Files are streamed:
// only rows kept are held in memory. Whatever is wrong with a file is an *InputError.
func openWeather(dir string, parts []string, rows int, rng *rand.Rand) ([]*Table, error) {
	classes, err := frequentWeather(dir, 5)
	if err != nil {
		return nil, err
	}
	tables := make([]*Table, len(parts))
	for i, part := range parts {
		if tables[i], err = readWeather(dir, part, classes, rows, rng); err != nil {
			return nil, err
		}
	}
	return tables, nil
}

// weatherMeta is the columns before the features.
var weatherMeta = []string{"fact_time", "fact_latitude", "fact_longitude", "fact_temperature", "fact_cwsm_class", "climate"}

const weatherLabel = 4

// weatherCode is a class as the number the files write it as: "10" or "10.0".
func weatherCode(class string) float64 {
	v, err := strconv.ParseFloat(class, 64)
	if err != nil {
		return -1
	}
	return v
}

// frequentWeather is the n most frequent classes of the training part, in ascending order; the
// smaller code wins a tie.
func frequentWeather(dir string, n int) ([]string, error) {
	count := make(map[float64]int)
	_, err := eachWeatherRow(dir, "train", func(record []string) error {
		count[weatherCode(record[weatherLabel])]++
		return nil
	})
	if err != nil {
		return nil, err
	}
	codes := slices.Sorted(maps.Keys(count))
	slices.SortStableFunc(codes, func(a, b float64) int { return count[b] - count[a] })
	codes = codes[:min(n, len(codes))]
	slices.Sort(codes)
	return Each(codes, decimalName), nil
}

// readWeather reads one part, a sample of at most so many rows of it, kept in file order.
func readWeather(dir, part string, classes []string, rows int, rng *rand.Rand) (*Table, error) {
	sample := weatherSample{label: make(map[float64]int), most: rows, rng: rng}
	for k, c := range classes {
		sample.label[weatherCode(c)] = k
	}
	columns, err := eachWeatherRow(dir, part, sample.add)
	if err != nil {
		return nil, err
	}
	t := &Table{Name: "weather/" + part, Columns: columns, Classes: classes}
	kept := sample.kept
	if len(kept) == 0 {
		return nil, Inputf(WeatherFile(dir, part), "has no complete row of the classes %s", strings.Join(classes, ", "))
	}
	slices.SortFunc(kept, func(a, b weatherRow) int { return a.at - b.at })
	t.Features = mat.NewDense(len(kept), len(columns), nil)
	for i, r := range kept {
		t.Features.SetRow(i, r.features)
		t.Labels = append(t.Labels, r.label)
	}
	return t, nil
}

type weatherRow struct {
	at, label int
	features  []float64
}

// weatherSample is a reservoir sample of the rows of some classes (Vitter 1985, Algorithm R).
type weatherSample struct {
	label map[float64]int // by code
	most  int             // rows
	rng   *rand.Rand
	seen  int
	kept  []weatherRow
}

// add takes a row, or leaves it.
func (s *weatherSample) add(record []string) error {
	y, ok := s.label[weatherCode(record[weatherLabel])]
	if !ok {
		return nil
	}
	slot := s.seen
	s.seen++
	if slot >= s.most {
		if slot = s.rng.IntN(s.seen); slot >= s.most {
			return nil
		}
	}
	r := weatherRow{at: s.seen, label: y, features: make([]float64, len(record)-len(weatherMeta))}
	for j, field := range record[len(weatherMeta):] {
		v, err := strconv.ParseFloat(field, 64)
		if err != nil || v-v != 0 {
			return fmt.Errorf("has %q in column %d, where a finite number should be", field, j+len(weatherMeta)+1)
		}
		r.features[j] = v
	}
	if slot == len(s.kept) {
		s.kept = append(s.kept, r)
	} else {
		s.kept[slot] = r
	}
	return nil
}

// eachWeatherRow calls f for every complete row of a part and returns the names
// of the features. The record given to f is overwritten by the next.
func eachWeatherRow(dir, part string, f func(record []string) error) (columns []string, err error) {
	path := WeatherFile(dir, part)
	file, err := openOr(path, "unpack https://storage.yandexcloud.net/yandex-research/shifts/weather/canonical-partitioned-dataset.tar "+
		"and name the folder of its csv files")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	records, err := newRecords(path, file, nil)
	if err != nil {
		return nil, err
	}
	records.TrimLeadingSpace = false
	err = records.each(0, func(n int, record []string) error {
		switch {
		case n > 1 && slices.ContainsFunc(record, absent):
		case n > 1:
			if err := f(record); err != nil {
				return Inputf(path, "row %d %w", n, err)
			}
		case len(record) <= len(weatherMeta) || !slices.Equal(record[:len(weatherMeta)], weatherMeta):
			return Inputf(path, "does not begin with the columns %s; it is no file of the canonical partition", strings.Join(weatherMeta, ", "))
		default:
			columns = slices.Clone(record[len(weatherMeta):])
		}
		return nil
	})
	if err == nil && columns == nil {
		err = Inputf(path, "cannot be read: %w", io.EOF)
	}
	return columns, err
}

// absent reports whether a field holds no value, as pandas writes it.
func absent(field string) bool { return field == "" || field == "nan" || field == "NaN" }
