package data

import (
	"fmt"
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
		"has no column true; it has a, b":                       "a,b\n1,2\n",
		"has 1 columns logits_i":                                "true,logits_0\n0,1\n",
		"has 2 columns logits_i and none of them is logits_1":   "true,logits_0,logits_2\n0,1,2\n",
		"has 1 columns features_i and none of them is features": "true,logits_0,logits_1,features_5\n0,1,2,3\n",
		`row 3 has "NaN" in column logits_1`:                    "true,logits_0,logits_1\n0,1,2\n0,1,NaN\n",
		`row 2 has the label "2"; labels must lie in 0…1`:       "true,logits_0,logits_1\n2,1,2\n",
		`row 2 has the label "0.5"`:                             "true,logits_0,logits_1\n0.5,1,2\n",
		`row 2 has the label "NaN"`:                             "true,logits_0,logits_1\nNaN,1,2\n",
		"has no rows":                                           "true,logits_0,logits_1\n",
		"cannot be read":                                        "",
	} {
		if _, err := OpenRawResults(tempFile(t, "r.csv", []byte(text))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
