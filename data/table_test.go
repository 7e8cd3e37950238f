package data

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestEmbeddedTables(t *testing.T) {
	// Counts from the UCI pages of the three data sets (digits: optdigits.names, test part).
	for _, c := range []struct {
		table         *Table
		rows, columns int
		counts        []int
	}{
		{Letter(), 20000, 16, []int{789, 766, 736, 805, 768, 775, 773, 734, 755, 747, 739, 761, 792, 783, 753, 803, 783, 758, 748, 796, 813, 764, 752, 787, 786, 734}},
		{Satellite(), 6435, 36, []int{703, 626, 1358, 1533, 707, 1508}},
		{Digits(), 1797, 64, []int{178, 182, 177, 183, 181, 182, 181, 179, 174, 180}},
	} {
		n, m := c.table.Features.Dims()
		if n != c.rows || m != c.columns || c.table.Len() != c.rows {
			t.Errorf("%s is %d×%d, want %d×%d", c.table.Name, n, m, c.rows, c.columns)
		}
		got := make([]int, len(c.table.Classes))
		for _, y := range c.table.Labels {
			got[y]++
		}
		if fmt.Sprint(got) != fmt.Sprint(c.counts) {
			t.Errorf("%s: class counts %v, want %v", c.table.Name, got, c.counts)
		}
	}
	letter := Letter()
	// The first row of letter-recognition.data: T,2,8,3,5,1,8,13,0,6,6,10,8,0,8,0,8
	if letter.Classes[letter.Labels[0]] != "T" || letter.Features.At(0, 6) != 13 || letter.Columns[6] != "x2bar" && letter.Columns[6] != "y.bar" {
		t.Errorf("first row of letter: class %s, %v", letter.Classes[letter.Labels[0]], letter.Features.RawRowView(0))
	}
}

func TestReadCSV(t *testing.T) {
	for name, c := range map[string]struct {
		text, label     string
		classes, labels string
		columns         string
	}{
		"header, last":   {"a,b,kind\n1,2,x\n3,4,y\n5,6,x\n", "", "[x y]", "[0 1 0]", "[a b]"},
		"named":          {"kind,a,b\nx,1,2\ny,3,4\nx,5,6\n", "kind", "[x y]", "[0 1 0]", "[a b]"},
		"bare, numbers":  {"1,2,10\n3,4,9\n5,6,10\n", "", "[9 10]", "[1 0 1]", "[]"},
		"spaces":         {"1, 2, x\n3, 4, y\n5, 6, x\n", "", "[x y]", "[0 1 0]", "[]"},
		"windows":        {"1,2,x\r\n3,4,y\r\n5,6,x\r\n", "", "[x y]", "[0 1 0]", "[]"},
		"number, header": {"a,b,c\n1,2,3\n3,4,1\n5,6,3", "c", "[1 3]", "[1 0 1]", "[a b]"},
	} {
		for _, zip := range []bool{false, true} {
			text := []byte(c.text)
			path := name + ".csv"
			if zip {
				path += ".gz"
				var b bytes.Buffer
				w := gzip.NewWriter(&b)
				w.Write(text)
				w.Close()
				text = b.Bytes()
			}
			table, err := OpenCSV(tempFile(t, path, text), c.label)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if got := fmt.Sprint(table.Classes, table.Labels, table.Columns); got != c.classes+" "+c.labels+" "+c.columns {
				t.Errorf("%s: got %s", name, got)
			}
			if table.Features.At(2, 0) != 5 || table.Features.At(1, 1) != 4 {
				t.Errorf("%s: features %v", name, table.Features.RawMatrix().Data)
			}
		}
	}
}

func TestReadCSVBad(t *testing.T) {
	for want, c := range map[string][2]string{
		`has no column "z"; it has a, b`:        {"a,b\n1,2\n", "z"},
		`has "x" in row 5, column 1`:            {"a,b\n1,2\n1.5,2\n2,1\nx,2\n", ""},
		`has "Inf" in row 2, column 1`:          {"1,2\nInf,2\n", ""},
		"has one column":                        {"1\n2\n", ""},
		"has no rows":                           {"a,b\n", ""},
		"line 2 has 3 fields and the first row": {"1,2\n1,2,3\n", ""},
		"has no label in row 2, column 2":       {"1,2\n1, \n", ""},
		`has "1e999" in row 2, column 1, wher`:  {"1,2\n1e999,2\n", ""},
	} {
		if _, err := OpenCSV(tempFile(t, "x.csv", []byte(c[0])), c[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := OpenCSV(tempFile(t, "x.csv.gz", letterCSV[:1000]), "lettr"); err == nil || !strings.Contains(err.Error(), "is packed with gzip and cut short") {
		t.Errorf("got %v", err)
	}
}

// TestDoubtfulCSV: a header that may be a row, labels that are a quantity and an index are noticed.
func TestDoubtfulCSV(t *testing.T) {
	rows := func(header string, row func(i int) string) string {
		for i := range 40 {
			header += row(i) + "\n"
		}
		return header
	}
	classified := func(i int) string { return fmt.Sprintf("%g,%d,%s", 0.5*float64(i*i%17), i%7, "ab"[i%2:i%2+1]) }
	first := func(i int) string { return fmt.Sprintf("%d,%g,%g", i%3, 0.5*float64(i*i%17), 0.37*float64(i)) }
	for want, c := range map[string]struct {
		text string
		how  CSV
	}{
		`begins with "0,1,label", which may be a header or a row; say --header yes or --header no`: {rows("0,1,label\n", classified), CSV{}},
		`begins with "1,2,3", which may be`:                            {rows("1,2,3\n", func(i int) string { return fmt.Sprintf("%d,%d,%d", i%5, i%7, i%4) }), CSV{}},
		"column c holds decimals, as 0.37, so it is no label; a (3 va": {rows("a,b,c\n", func(i int) string { return first(i % 5) }), CSV{}},
		"column c has 40 values in 40 rows, so it is no label":         {rows("a,b,c\n", first), CSV{}},
		"column b has 40 values in 40 rows, so it is no label; 1 (2 v": {rows("b,1,c\n", func(i int) string { return fmt.Sprintf("%d,%d,1.5", i, i%2) }), CSV{Label: "b"}},
		"column the last has 40 values in 40 rows":                     {rows("", first), CSV{}},
		"--header no says that there is none":                          {rows("a,b,c\n", classified), CSV{Label: "c", Header: NoHeader}},
		`has "a" in row 1`:                                             {rows("a,b,c\n", classified), CSV{Header: NoHeader}},
		"":                                                             {rows("0,1,label\n", classified), CSV{Header: NamedHeader}},
		" ":                                                            {rows("0.5,1,c\n", classified), CSV{Header: NoHeader}},
		"column row counts the rows: it is an index, which no network": {rows("row,b,c,d\n", func(i int) string { return fmt.Sprintf("%d,", i) + classified(i) }), CSV{}},
	} {
		table, err := c.how.Open(tempFile(t, "x.csv", []byte(c.text)))
		if want = strings.TrimSpace(want); err == nil && strings.Contains(table.Notice, want) && (want == "") == (table.Notice == "") {
			continue
		}
		if want == "" || !isInput(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

// TestByteOrderMark: the mark that spreadsheets write before UTF-8 belongs to no field, so
// it makes no header of a first row of numbers and no other name of a first column.
func TestByteOrderMark(t *testing.T) {
	for name, c := range map[string]struct{ text, label string }{
		"no header":        {"\ufeff1,2,x\r\n3,4,y\r\n", ""},
		"label first":      {"\ufefflabel,a,b\r\nx,1,2\r\ny,3,4\r\n", "label"},
		"quoted and first": {"\ufeff\"label\",a,b\nx,1,2\ny,3,4\n", "label"},
	} {
		table, err := OpenCSV(tempFile(t, "x.csv", []byte(c.text)), c.label)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := fmt.Sprint(table.Classes, table.Features.RawMatrix().Data); got != "[x y] [1 2 3 4]" {
			t.Errorf("%s: got %s", name, got)
		}
	}
	if _, err := Open(tempFile(t, "r.csv", []byte("\ufefflabel,preds,logits_0,logits_1\n1,0,2,3\n"))); err != nil {
		t.Errorf("features: %v", err)
	}
}

// FuzzReadCSV: whatever the bytes, a table that fits together, divided, or an input error.
func FuzzReadCSV(f *testing.F) {
	for _, text := range []string{"1,2,x\n3,4,y\n", "a,b,c\n1,2,x\n", "\ufeff\"c\",a\nx,1\n", "1;2\n", "a,b,c\nred,?,x\n,2,y\nblue,3,x\n", "red,x,p\nblue,y,q\nred,y,q\nblue,x,p\n", strings.Repeat("1e200,0,0,0,0,0,0,x\n0,0,0,0,0,0,0,y\n", 8)} {
		f.Add([]byte(text), "")
		f.Add([]byte(text), "c")
	}
	f.Fuzz(func(t *testing.T, text []byte, label string) {
		table, err := CSV{Label: label}.read("fuzz", bytes.NewReader(text))
		if err != nil {
			if !isInput(err) {
				t.Fatalf("%v is no input error", err)
			}
			return
		}
		n, m := table.Features.Dims()
		if n != len(table.Labels) || table.Columns != nil && len(table.Columns) != m || slices.Min(table.Labels) < 0 || slices.Max(table.Labels) >= len(table.Classes) {
			t.Fatalf("%d×%d features, %d labels of %d classes, columns %q", n, m, len(table.Labels), len(table.Classes), table.Columns)
		}
		if _, err := table.Divide(RawSettings{HeldOut: 0.3}, newRand(1)); err != nil && !isInput(err) {
			t.Fatalf("divided: %v is no input error", err)
		}
	})
}

func ExampleLetter() {
	letter := Letter()
	fmt.Println(letter.Len(), "rows,", len(letter.Classes), "classes")
	for _, part := range letter.Split([]float64{0.4, 0.3, 0.3}, rand.New(rand.NewPCG(1, 0))) {
		fmt.Println(part.Len())
	}
	// Output:
	// 20000 rows, 26 classes
	// 8000
	// 6000
	// 6000
}
