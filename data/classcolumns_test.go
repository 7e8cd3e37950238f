package data

import (
	"fmt"
	"strings"
	"testing"
)

// TestClassColumns: which columns of a csv file are those of classes, which is the label, and which tables are raw.
func TestClassColumns(t *testing.T) {
	repeat := func(head string, rows ...string) string {
		return head + "\n" + strings.Repeat(strings.Join(rows, "\n")+"\n", 4)
	}
	numbered := func(head string, rows ...string) string { // with a number before each row
		lines := strings.Split(strings.TrimSpace(repeat(head, rows...)), "\n")
		for i := range lines[1:] {
			lines[i+1] = fmt.Sprint(i+100) + "," + lines[i+1]
		}
		return strings.Join(lines, "\n") + "\n"
	}
	a, b := ".7,.3,a", ".2,.8,b"
	for name, c := range map[string]struct{ text, want string }{
		"the class":          {numbered("id,a,b,label", a, b), "[a b] [0 1]"},
		"columns exchanged":  {numbered("id,b,a,label", a, b), "[b a] [1 0]"},
		"p_":                 {repeat("p_a,p_b,y", a, b), "[a b] [0 1]"},
		".pred_":             {repeat(".pred_a,.pred_b,.pred_class,truth", ".7,.3,a,b", ".2,.8,b,a"), "[a b] [1 0]"},
		"prob.":              {repeat("row_ids,truth,response,prob.a,prob.b", "1,a,b,.4,.6", "2,b,b,.2,.8"), "[a b] [0 1]"},
		"H2O":                {repeat("predict,p0,p1,label", "1,.4,.6,0", "1,.2,.8,1"), "[] [0 1]"},
		"numbers from 1":     {repeat("1,2,target", ".7,.3,1", ".2,.8,2"), "[1 2] [0 1]"},
		"a class without":    {repeat("a,b,c,label", ".7,.2,.1,a", ".2,.7,.1,b"), "[a b c] [0 1]"},
		"percent":            {repeat("a,b,label", "70,30,a", "20,80,b"), "[a b] [0 1]"},
		"scores":             {repeat("a,b,label", "-7,3,a", "2,-8,b"), "[a b] [0 1]"},
		"without labels":     {repeat("prob.a,prob.b", ".7,.3", ".2,.8"), "[a b] []"},
		"two labels":         {repeat("a,b,kind,sort", a+",a", b+",a"), "has columns kind and sort, which both name classes; call the one that is true label"},
		"numbered columns":   {repeat("0,1,2,label", "5.1,3.5,1.4,0", "4.9,3.0,1.3,1", "4.7,3.2,.2,2"), "raw"},
		"prices":             {repeat("open,high,low,close,label", "1,3,1,2,high", "2,4,1,3,low"), "raw"},
		"measured":           {repeat("p_value,p_rank,label", ".3,4,a", ".2,5,b"), "raw"},
		"iris":               {repeat("width,length,kind", "5.1,3.5,a", "4.9,3.0,b"), "raw"},
		"folds beside names": {repeat("logit_0,logit_1,fold", "7,.1,0", ".2,-3,1"), "[] []"},
	} {
		path := tempFile(t, "p.csv", []byte(c.text))
		got := "raw"
		if !HoldsRaw(path) {
			p, err := ReadPredictions(path)
			if got = fmt.Sprint(err); err == nil {
				got = fmt.Sprint(p.ClassNames, p.Labels[:min(2, len(p.Labels))])
			}
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
	}
}
