package cli

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments/diagnosis"
	"calibra/experiments/method"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/rowcheck"
	"calibra/experiments/run"
	"calibra/experiments/source"
	"calibra/experiments/study"
	"calibra/experiments/verdict"
	"calibra/graph/work"

	"gonum.org/v1/gonum/mat"
)

// judged are predictions with labels to judge them by, and where their rows lie.
type judged struct {
	*data.Predictions

	embedding       mat.Matrix // nil without
	path            string
	features        string               // the file that says where the rows lie, "" where their own says it
	flags           string               // that read the file, as another command takes them
	source          *data.Source         // whose test rows they are, nil of predictions
	unread          string               // [data.Source.Unread] of the file
	doubts          []string             // why nothing that the rows show is to be used, "" where they are as they should be
	copies          *rowcheck.Copies     // of the rows, nil without
	described       *data.Described      // of a features file's own rows, nil of predictions
	sets            *metrics.SetCoverage // of their prediction sets, nil without
	classes, groups []metrics.Part       // of the rows, by name
	multi           *metrics.Multicalibration
}

// judgedFlags are what is known of rows that a command judges.
type judgedFlags struct {
	tableFlags
	scoresFlags
	encoderFlag
}

// raw is an *InputError of a csv file of raw rows, unless a network is to be trained on them.
func (f *judgedFlags) raw(methods *method.Catalog, path string) error {
	if f.Encoder != "" || brought(methods, path) || !data.HoldsRaw(path) {
		return nil
	}
	return data.Inputf(path, "holds raw rows and no predictions; name a column of probabilities for each class prob_NAME, the true class label, or train a network on some of the rows by --encoder mlp")
}

// judged reads predictions with labels, whose rows lie where the file features says, "" for none. Of a features file, and
// of other data that calibra fit takes, they are the classifier's own for the test rows, which lie where the principal
// components of their features say; so are predictions that equal those of the file features.
func (f *judgedFlags) judged(ctx context.Context, t *terminal, methods *method.Catalog, path, features string, seed uint64) (*judged, error) {
	if err := f.raw(methods, path); err != nil {
		return nil, err
	}
	j, err := readJudged(ctx, methods, path, f.scores())
	if errors.Is(err, data.ErrNoPredictions) {
		if j, err = f.tested(ctx, t, methods, path, seed); err == nil {
			t.note("%s holds no predictions: the classifier's own are judged, for its %d test rows", path, len(j.Labels))
		}
	}
	if err != nil {
		return nil, err
	}
	if j.features = features; j.source == nil {
		if own := f.own(ctx, t, methods, j, seed); own != nil {
			t.note("%s holds the classifier's own predictions for the test rows of %s, and is judged as these", path, features)
			j = own
		}
	}
	j.flags = f.scoresFlags.said() + f.tableFlags.said() + f.encoderFlag.said()
	if j.Labels == nil {
		return nil, data.Inputf(path, "has no labels to judge the predictions by")
	}
	return j, nil
}

// own are the test rows of the file that says where the rows of predictions lie, where these are the classifier's own
// for them; else nil.
func (f *judgedFlags) own(ctx context.Context, t *terminal, methods *method.Catalog, p *judged, seed uint64) *judged {
	if has, err := data.HasArray(p.features, "test_logits"); err != nil || !has {
		return nil
	}
	if sets, err := data.HasArray(p.path, "sets"); err != nil || sets { // which the file of features has not
		return nil
	}
	j, err := f.tested(ctx, t, methods, p.features, seed)
	if err != nil || !slices.Equal(j.Labels, p.Labels) || !sameProbabilities(j.LogProbs, p.LogProbs) ||
		!slices.Equal(j.Weights, p.Weights) || p.Groups.Of != nil && !slices.Equal(j.Groups.Of, p.Groups.Of) {
		return nil
	}
	return j
}

// sameProbabilities reports whether log-probabilities are those of the same probabilities, up to what single precision
// leaves of them.
func sameProbabilities(a, b *mat.Dense) bool {
	const single = 1e-6
	n, c := a.Dims()
	if rows, columns := b.Dims(); rows != n || columns != c {
		return false
	}
	for i := range n {
		for k, l := range a.RawRowView(i) {
			if math.Abs(math.Exp(l)-math.Exp(b.At(i, k))) > single {
				return false
			}
		}
	}
	return true
}

// readJudged are predictions that a file holds; of what the program makes itself there are none.
func readJudged(ctx context.Context, methods *method.Catalog, path string, as data.Scores) (*judged, error) {
	if source.Registry(methods.RawSources()).Makes(path) {
		return nil, data.ErrNoPredictions
	}
	p, err := data.ReadPredictionsContext(ctx, path, as)
	return &judged{Predictions: p, path: path}, err
}

// fitted is the verdict on methods that are fitted to the calibration rows of the same file, set beside the classifier
// as it is, where g is what corrections of these rows gain; nil where the file has no such rows with labels.
func (j *judged) fitted(ctx context.Context, methods *method.Catalog, seed uint64, g *metrics.Recovered) (
	*verdict.Verdict, error) {
	if j.source == nil || j.source.Cal == nil {
		return nil, nil
	}
	src := *j.source
	if src.Cal.Logits == nil || src.Cal.Labels == nil && src.Cal.Soft == nil {
		return nil, nil
	}
	test := *src.Test
	src.Test, test.TestWeights = &test, j.TestWeights
	rows := &run.Run{Spec: run.Spec{Catalog: methods, Seed: seed}, Source: &src}
	classifier, err := beside(work.Span(ctx, "", 0, 0), verdict.Classifier, rows)
	if err != nil {
		return nil, err
	}
	classifier.Source = &src // with its features
	w, err := weigh(ctx, classifier, g)
	if w == nil || err != nil {
		return nil, err
	}
	return w.verdict, nil
}

// verdict is what judge says of the rows, given the verdict on methods that are fitted beside (see fitted), with what
// is to be done.
func (j *judged) verdict(ctx context.Context, t *terminal, methods *method.Catalog, seed uint64, g *metrics.Recovered, judge func(fitted *verdict.Verdict) (*verdict.Verdict, error)) (*verdict.Verdict, error) {
	fitted, err := j.fitted(ctx, methods, seed, g)
	if err != nil {
		return nil, err
	}
	v, err := judge(fitted)
	if v == nil || err != nil {
		return nil, err
	}
	j.repaired(ctx, v, seed)
	v.Notes = &t.said
	v.Doubt(j.doubts...)
	return v, nil
}

// repaired gives a verdict the method to use and the commands that fit it and apply it, or those that fit a correction
// to the features of these rows: to their own file where that is one of features.
func (j *judged) repaired(ctx context.Context, v *verdict.Verdict, seed uint64) {
	switch in := quoted(relative(j.path)); {
	case v.Say == verdict.CannotTell && j.source != nil && j.features == "" && study.CrossFit(v, in, labelledRows(ctx, j.path)):
	case v.Say == verdict.Use && !slices.Contains(verdict.Corrections[1:], v.Method):
		v.Commands = remedy(v, study.Commands(in, run.Spec{Method: v.Method, Seed: seed}, 0))
	case j.described != nil:
		corrections(v, "", cmp.Or(j.features, j.path))
	default:
		from := j.features
		if fitted, err := data.HasArray(from, "cal_labels"); err != nil || !fitted {
			from = ""
		}
		corrections(v, j.path, from)
	}
	for i := range v.Commands {
		if j.source != nil && j.features == "" {
			v.Commands[i] += j.flags
		}
	}
}

// labelledRows is how many labelled rows a features file has; 0 of other data.
func labelledRows(ctx context.Context, path string) int {
	src, err := data.OpenWhole(ctx, path)
	if err != nil {
		return 0
	}
	return src.Cal.Len()
}

// tested are the classifier's own predictions for the test rows of a features file, or of other data that has some.
func (f *judgedFlags) tested(ctx context.Context, t *terminal, methods *method.Catalog, path string, seed uint64) (*judged, error) {
	src, err := f.open(ctx, t, methods, path, seed, data.Names{}, f.scores(), f.Encoder)
	if err == nil {
		err = src.Require("test_logits")
	}
	if err == nil {
		err = src.Settle(f.scores())
	}
	if err != nil {
		return nil, err
	}
	j, err := unchanged(methods, src, path)
	if err == nil {
		j.source, j.unread = src, src.Unread
	}
	return j, err
}

// unchanged are the classifier's own predictions for the test rows of a file.
func unchanged(methods *method.Catalog, src *data.Source, path string) (*judged, error) {
	m, err := methods.Find(verdict.Classifier)
	if err != nil {
		return nil, err
	}
	classifier, _, err := m.Build(method.Options{Catalog: methods})
	if err != nil {
		return nil, err
	}
	if err := classifier.Fit(context.Background(), src.Test, nil, rand.New(rand.NewPCG(0, 0))); err != nil { // there is nothing to learn
		return nil, err
	}
	p, err := classifier.Predict(src.Test)
	if err != nil {
		return nil, err
	}
	p.ClassNames, p.Order = src.Test.Names.Classes, src.Order
	if src.Scores.Normalized() {
		p.ReadAs = src.ReadAs
	}
	p.Take(src.Test)
	j := &judged{Predictions: p, path: path}
	if src.Test.Features != nil {
		j.described = &data.Described{Features: data.Dense(src.Test.Features), Names: src.Test.Names.Features, Groups: src.Test.Groups}
	}
	return j, nil
}

// told prints which arrays nothing reads, where embedding may name one that is read, what the array logits was taken
// for, where it holds no logits, and what is odd about the labels.
func (j *judged) told(t *terminal, embedding string) {
	j.unread = cmp.Or(j.unread, j.Unread(embedding))
	warnUnread(t, j.path, j.unread)
	if j.copies != nil {
		warnOf(t, "copies", j.path, j.copies.String())
	}
	if j.Order != "" {
		t.remark("classes", "%s: %s", j.path, j.Order)
	}
	if j.ReadAs != "" {
		t.remark("read_as", "%s holds %s", j.path, j.ReadAs)
	}
	beside := rowcheck.Findings{}
	features := j.source != nil && j.source.Test.Features != nil
	if j.source != nil && j.source.Cal != nil {
		beside = rowcheck.Find(j.source)
		beside.Copies = nil // which are counted where the embedding is known
		if beside.TestLabels != "" {
			beside.Wrong = nil // the same in other words
		}
	} else {
		names := data.Names{Classes: j.ClassNames}
		beside.Labels = rowcheck.OtherLabels("rows", &data.Set{Logits: j.LogProbs, Labels: j.Labels, Weights: j.Weights, Names: names})
	}
	warnDiffer(t, j.path, &beside.Comparison)
	warnFound(t, j.path, &beside, features)
	j.doubts = append(beside.Doubts(features), beside.Wrong...)
}

// embed reads the embedding from the array key or, if key is "", from the array of the default name if the file has it.
func (j *judged) embed(key string) error {
	if key == "" {
		key = "embedding"
		if has, err := data.HasArray(j.path, key); err != nil || !has {
			return err
		}
	}
	z, err := data.ReadFeatures(j.path, key)
	if err != nil {
		return err
	}
	n, _ := z.Dims()
	if rows, _ := j.LogProbs.Dims(); n != rows {
		return data.Inputf(j.path, "the embedding has %d rows and the predictions have %d; they must have the same", n, rows)
	}
	j.embedding = z
	return nil
}

// describe reads the features of the rows from another file, or takes their own; their principal components are the
// embedding, and its groups are those of rows that have none of their own.
func (j *judged) describe() (d *data.Described, err error) {
	if d = j.described; j.features != "" {
		d, err = j.Describe(j.features, j.path)
	}
	if err != nil {
		return nil, err
	}
	rows := (&data.Set{Features: d.Features, Weights: j.Weights}).ForFit()
	embed, err := data.FitWeightedEmbedding(rows.Features, rows.Weights, 0)
	if err != nil {
		return nil, err
	}
	if j.embedding = embed.Apply(d.Features); j.Groups.Of == nil {
		j.Groups = d.Groups
	}
	return d, nil
}

// count finds the copies among the rows, by their features (N×d) too where these are known.
func (j *judged) count(features mat.Matrix) {
	j.TestWeights, j.copies = rowcheck.CountCopies(&data.Set{Features: features, Logits: j.LogProbs, Labels: j.Labels, Weights: j.Weights, Soft: j.Soft, Groups: j.Groups})
}

// lie finds where the rows lie: where another file says, else their own features if they have any and no key is named,
// or else the array key. It counts the copies among them there.
func (j *judged) lie(key string) (d *data.Described, err error) {
	if j.features == "" && (j.described == nil || key != "") {
		if err := j.embed(key); err != nil {
			return nil, err
		}
		j.count(j.embedding)
		return nil, nil
	}
	if d, err = j.describe(); err == nil {
		j.count(d.Features)
	}
	return d, err
}

// examination is how the rows are diagnosed: by the features that another file has of them, or by their own, if there
// are any.
func (j *judged) examination() (e diagnosis.Examination, err error) {
	e = diagnosis.Examination{Soft: j.Soft, ClassNames: j.ClassNames}
	d, err := j.lie("")
	if err != nil {
		return e, err
	}
	if d != nil {
		e.Features, e.Names = d.Features, d.Names
	}
	e.Rows = j.Counting()
	e.Groups, e.GroupNames = j.Groups.Of, data.Each(j.Groups.Names, func(name string) string { return report.Named("group", name) })
	return e, nil
}

// diagnose diagnoses the rows, which have an embedding, by draws of the seed.
func (j *judged) diagnose(ctx context.Context, e diagnosis.Examination, seed uint64) (*diagnosis.Diagnosis, error) {
	d, err := diagnosis.Diagnose(ctx, j.LogProbs, j.Labels, data.Dense(j.embedding), e, rand.New(rand.NewPCG(seed, 0)))
	return d, asUsage(err)
}

// placedRows is up to how many test rows a fit or an evaluation asks where the classifier is wrong: it takes some
// seconds.
const placedRows = 4000

// place is where the classifier is wrong, as calibra diagnose finds it by its defaults in the test rows of a source;
// nil where they are too few, more than most, or without features.
func place(ctx context.Context, methods *method.Catalog, src *data.Source, path string, most int) (*diagnosis.Diagnosis, error) {
	test := src.Test.ForFit()
	if test.Features == nil || test.Logits == nil || test.Len() < diagnosis.FewestRows || test.Len() > most ||
		test.Soft == nil && slices.Min(test.Labels) == slices.Max(test.Labels) {
		return nil, nil
	}
	rows, err := unchanged(methods, src, path)
	if err != nil {
		return nil, err
	}
	e, err := rows.examination()
	if err != nil || rows.copies != nil && rows.copies.Counted < diagnosis.FewestRows {
		return nil, err
	}
	d, err := rows.diagnose(ctx, e, 0)
	if err == nil {
		verdict.JudgeDiagnosis(d, nil)
	}
	return d, err
}

// size is that of their data, but for calibration rows.
func (j *judged) size() (s source.Size) {
	if j.source != nil {
		s = source.SizeOf(j.source)
	} else if j.embedding != nil {
		_, s.Features = j.embedding.Dims()
	}
	s.Tested, s.Classes = j.LogProbs.Dims()
	return s
}

// name is that of their file.
func (j *judged) name() string { return strings.TrimSuffix(filepath.Base(j.path), ".npz") }

// pictured are the sections of what the predictions look like, and the card of a verdict on them, nil of none.
func (j *judged) pictured(v *verdict.Verdict) (sections []*report.Section, card *report.Drawing, err error) {
	seen, err := portraits([]said{{j.name(), j.Predictions}})
	if err != nil {
		return nil, nil, err
	}
	names := report.Names{Classes: j.ClassNames, Groups: j.Groups.Names}
	if v != nil {
		card = report.NewCard(v, seen, names, sharesOf(j.source))
	}
	return report.Portraits(seen, names), card, nil
}

// counting is how the rows count and what their labels are.
func (j *judged) counting() metrics.Settings {
	return metrics.Settings{Rows: j.Counting(), Soft: j.Soft}
}

// byName measures the classes of predictions, where they have names, and the groups of their rows, where they have any.
func (j *judged) byName() (err error) {
	s := j.counting()
	if j.ClassNames != nil {
		if j.classes, err = metrics.Parts(j.LogProbs, j.Labels, nil, j.ClassNames, s); err != nil {
			return err
		}
	}
	if j.Groups.Of == nil {
		return nil
	}
	if j.groups, err = metrics.Parts(j.LogProbs, j.Labels, j.Groups.Of, j.Groups.Names, s); err != nil {
		return err
	}
	names := j.ClassNames
	if names == nil {
		names = data.Numerals(j.LogProbs.RawMatrix().Cols)
	}
	j.multi, err = metrics.NewMulticalibration(j.LogProbs, j.Labels, j.Groups.Of, j.Groups.Names, names, s)
	return err
}

// corrections gives a verdict on corrections the method that makes the one to use, and the commands that fit it to the
// features of some predictions (a file, or "" for the network's own). A fit starts from the network's logits: where a
// run left the predictions, one map of the logits corrects others than these, and so does the method of the run; then
// the command compares methods.
func corrections(v *verdict.Verdict, predictions, features string) {
	recommended := (*method.Catalog)(nil).Recommended()
	global := method.Instead[0] // which reads logits alone
	method := map[string]string{verdict.Corrections[1]: global, verdict.Corrections[2]: recommended.Name}[v.ToUse()]
	if method == "" {
		return
	}
	v.Method = method
	in := quoted(cmp.Or(relative(features), "FEATURES.npz"))
	if spec, err := run.ReadSpec(filepath.Dir(predictions)); predictions != "" && err == nil && (spec.Method == method || method == global && spec.Method != verdict.Classifier) {
		v.Commands = []string{"calibra compare --in " + in + " --methods nc,ts," + recommended.Name + ",local-ts,corrected --out runs/corrections"}
		return
	}
	v.Commands = []string{"calibra fit --in " + in + " --method " + method + " --out runs/" + method}
}
