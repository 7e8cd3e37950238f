package data

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestOpenRawResults(t *testing.T) {
	set, err := OpenRawResults(tempFile(t, "r.csv", []byte(",true,preds,features_1,features_0,logits_0,logits_1,logits_2\n"+
		"0,2,1,0.5,-1,1e-3,2,3\n1,0.0,0,7,8,9,10,11\n")))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(set.Labels, Dense(set.Features).RawMatrix().Data, set.Logits.RawMatrix().Data); got != "[2 0] [-1 0.5 8 7] [0.001 2 3 9 10 11]" {
		t.Errorf("got %s", got)
	}
	set, err = OpenRawResults(tempFile(t, "r.csv", []byte("true,preds,logits_0,logits_1\n1,0,2,3\n")))
	if err != nil || set.Features != nil || set.Classes() != 2 {
		t.Errorf("without features: got %+v, %v", set, err)
	}
}

func TestOpenRawResultsBad(t *testing.T) {
	for want, text := range map[string]string{
		"has no columns feature_0":                            "a,b\n1,2\n",
		"has no test_labels":                                  "logits_0,logits_1\n1,2\n",
		"there must be one for each of at least two classes":  "true,logits_0\n0,1\n",
		"has 2 columns logits_0, logits_1, … but no logits_1": "true,logits_0,logits_2\n0,1,2\n",
		"but no features_0":                                   "true,logits_0,logits_1,features_5\n0,1,2,3\n",
		`holds NaN at row 1, column 1`:                        "true,logits_0,logits_1\n0,1,2\n0,1,NaN\n",
		`holds 2 at row 0; labels must lie in 0…1`:            "true,logits_0,logits_1\n2,1,2\n",
		`label holds "0.5" at row 0`:                          "true,logits_0,logits_1\n0.5,1,2\n",
		"has no test_labels (column label":                    "true,logits_0,logits_1\nNaN,1,2\n",
		"has no rows":                                         "true,logits_0,logits_1\n",
		"is empty":                                            "",
	} {
		if _, err := OpenRawResults(tempFile(t, "r.csv", []byte(text))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestColumnsOfAnyTable: the columns of an array may be named by one of it, as those of a csv are, and
// by classes and features.
func TestColumnsOfAnyTable(t *testing.T) {
	number := func(name string, values ...float64) *column {
		return &column{name: name, rows: len(values), values: values}
	}
	for name, write := range map[string]func(io.Writer, []*column) error{"f.parquet": writeParquet, "f.arrow": writeArrow} {
		var file bytes.Buffer
		label := number("label", 1, 0)
		label.whole = true
		if err := write(&file, []*column{number("feature_age", 1, 2), label, number("logit_cat", 5, 6), number("logit_dog", 7, 8), number("prob", 1, 1)}); err != nil {
			t.Fatal(err)
		}
		s, err := Open(tempFile(t, name, file.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(s.Test.Labels, Dense(s.Test.Features).RawMatrix().Data, s.Test.Logits.RawMatrix().Data, s.Test.Names, s.Unread); got != "[1 0] [1 2] [5 7 6 8] {[cat dog] [age]}nothing reads prob" {
			t.Errorf("%s: got %s", name, got)
		}
	}
	var file bytes.Buffer
	if err := writeParquet(&file, []*column{{name: "features", list: true, width: 2, rows: 2, values: []float64{1, 2, 3, 4}}, number("feature_age", 7, 8), number("logits_0", 5, 6), number("logits_1", 5, 6)}); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(tempFile(t, "f.parquet", file.Bytes())); err != nil || fmt.Sprint(Dense(s.Test.Features).RawMatrix().Data, s.Unread) != "[1 2 3 4]nothing reads feature_age" {
		t.Errorf("a column beside the list: %v, %v", s, err)
	}
}

// TestFeaturesCSV: a csv of features stands where an npz file does, with the names of its columns.
func TestFeaturesCSV(t *testing.T) {
	s, err := Open(tempFile(t, "f.csv", []byte("set,feature_age,logit_cat,logit_dog,feature_size,label,note\n"+
		"cal,1,0.5,2,3,dog,x\ncal,2,1,0,5,cat,y\ntest,4,0,0,6,dog,\n")))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.Cal.Labels, s.Test.Labels, Dense(s.Cal.Features).RawMatrix().Data, s.Cal.Logits.RawMatrix().Data, s.Test.Names); got != "[1 0] [1] [1 3 2 5] [0.5 2 1 0] {[cat dog] [age size]}" {
		t.Errorf("got %s", got)
	}
	for want, text := range map[string]string{
		"label has no label at row 1":                             "logit_0,logit_1,label\n1,2,0\n1,2,\n",
		"set says train at row 0":                                 "logit_0,logit_1,set\n1,2,train\n",
		`line 2: column logit_1 has "x" at row 0, where a number`: "logit_0,logit_1\n1,x\n",
		"says cow at row 0, which is none of the":                 "logit_a,logit_b,label\n1,2,cow\n",
		"labels name 1 classes and logits have 2":                 "logit_0,logit_1,label\n1,2,cow\n",
		"line 2 has 1 field and the first row has 2":              "logit_0,logit_1\n1\n",
		"class_names has 3 names and logits have 2 columns":       "logit_0,logit_1,prob_a,prob_b,prob_c\n1,2,0,0,1\n",
	} {
		if _, err := Open(tempFile(t, "f.csv", []byte(text))); err == nil || !isInput(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
