package data

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const weatherHeader = "fact_time,fact_latitude,fact_longitude,fact_temperature,fact_cwsm_class,climate,sun_elevation,gfs_pressure\n"

// weatherDir is a canonical partition of two parts: in train class code c of
// codes has as many rows as its place in the list, from one.
func weatherDir(t testing.TB, codes []string, evalIn string) string {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString(weatherHeader)
	for i, c := range codes {
		for r := range i + 1 {
			fmt.Fprintf(&b, "1.5e9,50.1,30.2,12.0,%s,dry,%d,%d.5\n", c, i, r)
		}
	}
	b.WriteString("1.5e9,50.1,30.2,12.0,77.0,,1,2\n") // an averaged row: no climate
	for part, text := range map[string]string{"train": b.String(), "eval_in": weatherHeader + evalIn} {
		if err := os.WriteFile(WeatherFile(dir, part), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOpenWeather(t *testing.T) {
	dir := weatherDir(t, []string{"23.0", "22.0", "0.0", "20.0", "10.0", "11.0", "21.0"},
		"1,2,3,4,10.0,polar,0.5,1013\n1,2,3,4,23.0,polar,9,9\n1,2,3,4,0.0,polar,nan,9\n1,2,3,4,21,snow,-1,990\n")
	tables, err := openWeather(dir, []string{"train", "eval_in"}, weatherRows, newRand(1))
	if err != nil {
		t.Fatal(err)
	}
	train, eval := tables[0], tables[1]
	if got := fmt.Sprint(train.Classes); got != "[0 10 11 20 21]" {
		t.Errorf("the five most frequent classes are %s, want [0 10 11 20 21]", got)
	}
	if n, m := train.Features.Dims(); n != 3+4+5+6+7 || m != 2 || fmt.Sprint(train.Columns) != "[sun_elevation gfs_pressure]" {
		t.Errorf("train is %d×%d of %v", n, m, train.Columns)
	}
	if fmt.Sprint(eval.Labels, eval.Features.RawMatrix().Data) != "[1 4] [0.5 1013 -1 990]" {
		t.Errorf("eval_in: labels %v, features %v", eval.Labels, eval.Features.RawMatrix().Data)
	}
}

func TestOpenWeatherSample(t *testing.T) {
	dir := weatherDir(t, []string{"0.0", "10.0", "11.0"}, "")
	hits := make([]int, 6)
	for seed := range uint64(2000) {
		tables, err := openWeather(dir, []string{"train"}, 3, newRand(seed))
		if err != nil {
			t.Fatal(err)
		}
		if tables[0].Len() != 3 || !slices.IsSorted(tables[0].Labels) { // file order is label order here
			t.Fatalf("labels %v", tables[0].Labels)
		}
		for i := range 3 {
			f := tables[0].Features.RawRowView(i)
			hits[int(f[0])*(int(f[0])+1)/2+int(f[1])]++
		}
	}
	for r, h := range hits { // Bernoulli(½), 2,000 draws: sd 0.011; 5 of them allowed
		if share := float64(h) / 2000; share < 0.445 || share > 0.555 {
			t.Errorf("row %d was kept %.3f of the time, want 0.5", r, share)
		}
	}
}

func TestOpenWeatherBad(t *testing.T) {
	for want, text := range map[string]string{
		"does not begin with the columns fact_time": "a,b\n1,2\n",
		`row 2 has "x" in column 8`:                 weatherHeader + "1,2,3,4,0.0,dry,1,x\n",
		"has no complete row of the classes 0":      weatherHeader + "1,2,3,4,0.0,dry,,2\n",
		"line 2 has 2 fields and the first row":     weatherHeader + "1,2\n",
	} {
		dir := weatherDir(t, []string{"0.0"}, "")
		if err := os.WriteFile(filepath.Join(dir, "shifts_canonical_dev_in.csv"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := openWeather(dir, []string{"dev_in"}, weatherRows, newRand(1))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
