package study

import (
	"encoding/csv"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/metrics"
	"calibra/layers"
)

// codedSubject is a source with a method on one codeword, on random codes that lose less by gained,
// and boosted residuals that lose less by boosted; so on three seeds.
func codedSubject(gained, boosted float64) *subject {
	random, one := drawnRows(gained, gained, gained)
	trees, _ := drawnRows(boosted, boosted, boosted)
	s := &subject{}
	for _, as := range []struct {
		row    *row
		method string
		codes  experiments.Values
	}{{one, "stacked", codeKinds[0].learned}, {random, "stacked", codeKinds[1].twin}, {trees, headroomMethod, nil}} {
		as.row.spec = experiments.Spec{Method: as.method, Set: as.codes.String()}
		s.rows = append(s.rows, as.row)
	}
	return s
}

// TestHeadroom: a source is asked about codes where random codes or boosted residuals find what the
// method without codes does not, and left out where neither does, learned codes or not; where
// nothing was run to tell by, it is asked.
func TestHeadroom(t *testing.T) {
	for _, c := range []struct {
		name            string
		gained, boosted float64
		room            bool
	}{
		{"random codes find something", 0.1, 0, true},
		{"boosted residuals do", 0, 0.1, true},
		{"both do harm", -0.1, -0.1, false},
		{"neither finds more than noise", -0.002, -0.002, false}, // the noise of 1,200 rows is 0.0003
	} {
		s := codedSubject(c.gained, c.boosted)
		learned, _ := drawnRows(1, 1, 1)
		learned.spec = experiments.Spec{Method: "stacked", Set: codeKinds[1].learned.String()}
		s.rows = append(s.rows, learned) // is no witness
		if room, asked, err := s.headroom(t.Context()); err != nil || !asked || room != c.room {
			t.Errorf("%s: room %v, asked %v (%v)", c.name, room, asked, err)
		}
	}
	alone := &subject{rows: codedSubject(-0.1, -0.1).rows[1:]}
	if room, asked, err := alone.headroom(t.Context()); err != nil || asked || !room {
		t.Errorf("without the method on one codeword: room %v, asked %v (%v)", room, asked, err)
	}
}

// TestTwinsAreWritten: tests.csv has each kind of codes against its random twin, p corrected over all
// of them, and nothing else.
func TestTwinsAreWritten(t *testing.T) {
	f := &Findings{Study: &codesStudy}
	rng := rand.New(rand.NewPCG(3, 0))
	for _, name := range []string{"one", "two"} {
		origin := &experiments.Origin{Name: name}
		for _, c := range []struct {
			codes experiments.Values
			gain  float64
		}{{codeKinds[1].learned, 0.2}, {codeKinds[1].twin, 0}, {codeKinds[5].learned, -0.2}, {codeKinds[5].twin, 0}} { // EMA and leaf
			r := &Result{TestRows: 300, Spec: experiments.Spec{Method: "stacked", Set: c.codes.String()}, Shared: map[string]float64{}}
			for i := range 300 {
				loss := 1 + 0.1*rng.NormFloat64() - c.gain
				r.Losses, r.Rows = append(r.Losses, float32(loss)), append(r.Rows, i)
				r.Shared[metrics.NLL.String()] += loss / 300
			}
			f.Cells, f.Results = append(f.Cells, SpecCell{Origin: origin, Spec: r.Spec}), append(f.Results, r)
		}
	}
	var file strings.Builder
	if err := f.writeTests(t.Context(), &file); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(strings.NewReader(file.String())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := func(name string) int { return slices.Index(lines[0], name) }
	var p, corrected []float64
	for _, line := range lines[1:] {
		difference, _ := strconv.ParseFloat(line[column("difference")], 64)
		if kind := line[column("codes")]; line[0] != "twin" || kind == "EMA" && !(difference < -0.1) || kind == "leaf" && !(difference > 0.1) {
			t.Errorf("the test %v is not of that kind against its twin", line)
		}
		for to, name := range map[*[]float64]string{&p: "p", &corrected: "p_holm"} {
			x, _ := strconv.ParseFloat(line[column(name)], 64)
			*to = append(*to, x)
		}
	}
	if len(p) != 4 || !slices.Equal(metrics.Holm(p), corrected) {
		t.Errorf("p of four tests are %v, corrected %v", p, corrected)
	}
}

// TestOneSettingFindsTheTwinOfAnyKind: codebook.twin=random gives codes that look at no labels, and
// are those that the kind itself calls its twin.
func TestOneSettingFindsTheTwinOfAnyKind(t *testing.T) {
	for _, kind := range experiments.CodeKinds {
		of := func(v experiments.Values) layers.Codes {
			c, err := experiments.CodesOf(v, 16)
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			return c
		}
		codes := of(experiments.Values{"codebook.kind": kind})
		twin := of(experiments.Values{"codebook.kind": kind, "codebook.twin": "random"})
		if twin != codes.Twin() || layers.UsesLabels(twin) || twin.Twin() != twin {
			t.Errorf("the twin of %s codes, %#v, is %#v, and its own %#v", kind, codes, twin, twin.Twin())
		}
	}
}

// TestEveryKindOfCodesIsARowOfTheStudy with the settings that name its twin.
func TestEveryKindOfCodesIsARowOfTheStudy(t *testing.T) {
	for _, kind := range experiments.CodeKinds {
		found := kind == "random" // the twin of most
		for _, c := range codeKinds {
			found = found || c.learned["codebook.kind"] == kind
			if c.twin == nil {
				continue
			}
			learned, err := experiments.CodesOf(c.learned, 16)
			if err != nil {
				t.Fatal(err)
			}
			twin, err := experiments.CodesOf(c.twin, 16)
			if err != nil {
				t.Fatal(err)
			}
			if learned.Twin() != twin {
				t.Errorf("%s codes are compared with %#v; their twin is %#v", c.name, twin, learned.Twin())
			}
		}
		if !found {
			t.Errorf("%s codes have no row in the study", kind)
		}
	}
}

// TestSettingsThatKindsOfCodesLack are refused in a sentence that says what to do.
func TestSettingsThatKindsOfCodesLack(t *testing.T) {
	for want, v := range map[string]experiments.Values{
		"leave codebook.softness out":              {"codebook.kind": "leaf", "codebook.softness": "1"},
		"set codebook.softness above 0":            {"codebook.kind": "learned", "codebook.softness": "0"},
		"bandwidth of inducing points is":          {"codebook.kind": "inducing", "codebook.softness": "0"},
		"codes have no setting codebook.outside":   {"codebook.kind": "kmeans", "codebook.softness": "1", "codebook.outside": "2"},
		"codebook.nearest is of soft codes alone":  {"codebook.kind": "boosting", "codebook.nearest": "3"},
		"codes have no setting codebook.stages":    {"codebook.kind": "leaf", "codebook.stages": "3"},
		"it must be a word of ema, random, kmeans": {"codebook.kind": "leaves"},
	} {
		var input *data.InputError
		if _, err := experiments.CodesOf(v, 16); !errors.As(err, &input) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", v, err)
		}
	}
}

// drawnRows are two methods on three seeds, 400 rows each: the losses of the first are lower by
// each seed's shift, with some noise.
func drawnRows(shifts ...float64) (a, b *row) {
	a, b = &row{}, &row{}
	rng := rand.New(rand.NewPCG(1, 0))
	for seed, shift := range shifts {
		x, y := &Result{TestRows: 400}, &Result{TestRows: 400}
		for i := range 400 {
			loss := rng.Float64()
			x.Losses, y.Losses = append(x.Losses, float32(loss-shift+0.01*rng.NormFloat64())), append(y.Losses, float32(loss))
			number := seed*400 + i
			x.Rows, y.Rows = append(x.Rows, number), append(y.Rows, number)
		}
		for _, r := range []*Result{x, y} {
			var sum float64
			for _, l := range r.Losses {
				sum += float64(l) / 400
			}
			r.Shared = map[string]float64{metrics.NLL.String(): sum}
			r.Spec = experiments.Spec{Seed: uint64(seed)}
		}
		a.results, b.results = append(a.results, x), append(b.results, y)
	}
	return a, b
}
