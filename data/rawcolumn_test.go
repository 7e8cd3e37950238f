package data

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// people is a table of text and numbers, of which some are missing. Its kind is "rare" in one row alone.
func people(header bool) string {
	var b strings.Builder
	if header {
		b.WriteString("color,size,same,age,kind,label\n")
	}
	for i := range 200 {
		kind, age := "xyz"[i%3:i%3+1], fmt.Sprint(20+i%7)
		if i == 50 {
			kind = "rare"
		}
		if i%4 == 1 {
			age = "NA"
		}
		fmt.Fprintf(&b, "%s,%g,9,%s,%s,%c\n", []string{"red", "", "blue"}[i/2%3], 0.5*float64(i*i%17), age, kind, 'a'+i%2)
	}
	return b.String()
}

// TestTextIsOneHot: a column of text is a number for each value that a training row has, a missing number has the mean
// and a number of its own, a constant column none, and a value that no training row has is told.
func TestTextIsOneHot(t *testing.T) {
	path := tempFile(t, "people.csv", []byte(people(true)))
	told := false
	for seed := range uint64(6) {
		raw, err := OpenRaw(path, RawSettings{}, newRand(seed))
		if err != nil {
			t.Fatal(err)
		}
		known := slices.Contains(raw.Train.Columns, "kind=rare")
		want := []string{"color=", "color=blue", "color=red", "size", "age", "age missing", "kind=rare", "kind=x", "kind=y", "kind=z"}
		if !known {
			want = slices.Delete(want, 6, 7)
			told = true
		}
		if !slices.Equal(raw.Train.Columns, want) || raw.Test.Width() != len(want) || RawWidth(raw.Columns) != len(want) {
			t.Fatalf("a row has %q", raw.Train.Columns)
		}
		if strings.Contains(raw.Notice, `"rare" in column kind (rows: 1)`) == known || !strings.Contains(raw.Notice, "no network reads same: constant") {
			t.Errorf("noticed: %s", raw.Notice)
		}
		age := raw.Columns[3]
		for _, part := range []*Inputs{raw.Train, raw.Cal, raw.Test} {
			x := part.Matrix()
			for i := range part.Len() {
				n, row := part.Number(i), x.RawRowView(i)
				color, kinds := row[:3], row[6:]
				if at := []int{2, 0, 1}[n/2%3]; color[at] != 1 || color[0]+color[1]+color[2] != 1 {
					t.Fatalf("row %d has the colors %v", n, color)
				}
				sum := 0.0
				for _, v := range kinds {
					sum += v
				}
				if (sum == 1) != (known || n != 50) || sum > 1 {
					t.Fatalf("row %d has the kinds %v", n, kinds)
				}
				if row[3] != 0.5*float64(n*n%17) || (row[5] == 1) != (n%4 == 1) || n%4 == 1 && row[4] != age.Mean || n%4 != 1 && row[4] != float64(20+n%7) {
					t.Fatalf("row %d is %v", n, row)
				}
			}
		}
	}
	if !told {
		t.Error("no seed leaves the rare value to the other rows")
	}
}

// TestColumnsOfAnEncoder: what was written of columns reads the columns of another file by their names, and of a file
// that has others it tells which.
func TestColumnsOfAnEncoder(t *testing.T) {
	text := "color,code,size,label\n" + strings.Repeat("red,1,1,a\nblue,x,2,b\nblue,2,3,b\nred,1,2,a\n", 10)
	raw, err := OpenRaw(tempFile(t, "first.csv", []byte(text)), RawSettings{}, newRand(1))
	if err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(raw.Columns)
	if err != nil {
		t.Fatal(err)
	}
	var columns []RawColumn
	if err := json.Unmarshal(written, &columns); err != nil {
		t.Fatal(err)
	}
	open := func(text string) (*Raw, error) {
		return OpenRaw(tempFile(t, "other.csv", []byte(text)), RawSettings{Columns: columns}, newRand(1))
	}
	// in another order; code holds numbers alone, and is text for all that
	other, err := open("size,color,code,label\n" + strings.Repeat("1,red,1,a\n,green,1,b\n", 10))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(other.Cal.Columns, raw.Cal.Columns) || !slices.Equal(other.Cal.Columns, []string{"color=blue", "color=red", "code=1", "code=2", "code=x", "size"}) {
		t.Errorf("read as %q", other.Cal.Columns)
	}
	if !strings.Contains(other.Notice, `"green" in column color (rows: 10), no number in column size (rows: 10)`) {
		t.Errorf("noticed: %s", other.Notice)
	}
	for want, text := range map[string]string{
		"other has no column code, which":                  "color,size,label\nred,1,a\nblue,2,b\n",
		"other has the column more, which":                 "color,code,size,more,label\nred,1,1,1,a\nblue,2,2,2,b\n",
		"column size of other is text, and the encoder":    "color,code,size,label\nred,1,big,a\nblue,2,small,b\n",
		"other has 2 columns and the encoder was trained ": "1,2,a\n2,3,b\n",
	} {
		if _, err := open(text); err == nil || !isInput(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestTextCSV: what is a header, text, or a column that no network should read.
func TestTextCSV(t *testing.T) {
	rows := func(header string, row func(i int) string) string {
		for i := range 300 {
			header += row(i) + "\n"
		}
		return header
	}
	letters := func(i int) string { return fmt.Sprintf("%c,%c,%c", 'p'+i%3, 'x'+i%2, 'a'+i%2) }
	if table, err := OpenCSV(tempFile(t, "x.csv", []byte(people(false))), ""); err != nil || table.Columns != nil || table.Len() != 200 || table.Values[4][table.places0(4)] != "x" {
		t.Errorf("without a header: %v", err)
	}
	for name, c := range map[string]struct {
		text string
		how  CSV
		want string // of the error or the notice
	}{
		"a header of names":  {rows("one,two,label\n", letters), CSV{}, ""},
		"a name that recurs": {rows("p,two,label\n", letters), CSV{}, "say --header yes or --header no"},
		"which is said":      {rows("p,two,label\n", letters), CSV{Header: NamedHeader}, ""},
		"too many values":    {rows("id,b,c\n", func(i int) string { return fmt.Sprintf("u%d,", i) + letters(i)[2:] }), CSV{}, "column id names the rows: it is an index"},
		"dates": {rows("day,b,c\n", func(i int) string {
			return fmt.Sprintf("20%02d-%02d-%02d 12:30:01,", i%30, 1+i%12, 1+i%28) + letters(i)[2:]
		}), CSV{}, `column day holds dates, as "2000-01-01 12:30:01"`},
		"few dates":       {rows("day,b,c\n", func(i int) string { return fmt.Sprintf("%d/3/2024,", 1+i%28) + letters(i)[2:] }), CSV{}, `column day holds dates, as "1/3/2024", each`},
		"dates in digits": {rows("day,b,c\n", func(i int) string { return fmt.Sprintf("202401%02d,", 1+i%28) + letters(i)[2:] }), CSV{}, "column day holds dates, as 20240101"},
		"names of rows":   {rows("id,b,c\n", func(i int) string { return fmt.Sprintf("u%d,", i*2/3) + letters(i)[2:] }), CSV{}, "column id has 200 values in 300 rows and looks like an identifier"},
		"numbers of rows": {rows("id,b,c\n", func(i int) string { return fmt.Sprintf("%d,", 1000+i*7%300) + letters(i)[2:] }), CSV{}, "column id has another number in each row: it is an index"},
		"a number mistyped": {rows("a,b,c\n", func(i int) string {
			return strings.Replace(fmt.Sprintf("%g,", 0.5*float64(i)), "37.5", "3 7", 1) + letters(i)[2:]
		}), CSV{}, `has "3 7" in row 77, column 1`},
		"numbers and a value":  {rows("a,b,c\n", func(i int) string { return strings.Replace(fmt.Sprintf("%d,", i%5), "4", "4+", 1) + letters(i)[2:] }), CSV{}, `column a holds numbers and "4+" in row 6, and is read as text of 5 values`},
		"labels that are text": {rows("a,b,c\n", func(i int) string { return letters(i) + fmt.Sprint(i) }), CSV{}, "a (3 values), b (2 values) may be: name the label"},
	} {
		table, err := c.how.Open(tempFile(t, "x.csv", []byte(c.text)))
		if err == nil && strings.Contains(table.Notice, c.want) && (c.want == "") == (table.Notice == "") {
			continue
		}
		if c.want == "" || !isInput(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// places0 is the place of the first row in the values of column j.
func (t *Table) places0(j int) int { return int(t.Features.At(0, j)) }
