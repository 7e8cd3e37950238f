package tensorboard

import (
	"math"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/experiments/metrics"
	"calibra/experiments/run"
	"calibra/layers"
	"calibra/optim"
)

// Board is a folder that TensorBoard shows. Nil is none: its runs write nothing.
type Board struct{ Dir string }

// NewBoard is the board in dir, nil where that is "".
func NewBoard(dir string) *Board {
	if dir == "" {
		return nil
	}
	return &Board{dir}
}

// Begin begins the run of that name. All characters but letters, digits and a few signs become hyphens.
func (b *Board) Begin(name string) (*Run, error) {
	if b == nil {
		return nil, nil
	}
	words := strings.FieldsFunc(name, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("=+-_.", r))
	})
	folder := strings.TrimLeft(strings.Join(words, "-"), ".")
	if folder == "" {
		folder = "run"
	}
	e, err := newEvents(filepath.Join(b.Dir, folder))
	if err != nil {
		return nil, err
	}
	return &Run{events: e, began: time.Now(), live: map[string]bool{}}, nil
}

// Run is a run that is written while it goes on. Nil writes nothing.
type Run struct {
	lock   sync.Mutex
	events *events
	began  time.Time
	live   map[string]bool // stages whose epochs were observed
}

// Observer observes the stages of a fit in [run.Spec.Fit]; nil if nothing is to be written.
func (r *Run) Observer() method.Observer {
	if r == nil {
		return nil
	}
	return r.Observe
}

// Observe gives the observer that writes the epochs of a stage as they end.
func (r *Run) Observe(stage string) func(optim.Epoch) {
	return func(e optim.Epoch) {
		r.lock.Lock()
		defer r.lock.Unlock()
		r.live[stage] = true
		used := math.NaN()
		if w, err := e.Weights(); err == nil && w.Has(codebookCounts) { // the fit finds the error too
			used = layers.Perplexity(w.Float64s(codebookCounts))
		}
		r.point(stage, optim.Point{Epoch: e.Number, Loss: e.Loss, Validation: e.Validation, Gradient: e.Gradient},
			Scalar{stage + "/learning_rate", e.Rate}, Scalar{stage + "/codebook_perplexity", used})
	}
}

// codebookCounts are the moving counts of a codebook that learns.
const codebookCounts = "codebook/counts"

func (r *Run) point(stage string, p optim.Point, more ...Scalar) {
	r.events.scalars(p.Epoch, append(more,
		Scalar{stage + "/loss", p.Loss}, Scalar{stage + "/validation_loss", p.Validation}, Scalar{stage + "/gradient_norm", p.Gradient})...)
}

// Fitted ends the run of a fit: with the stages that were not observed, its settings and its metrics.
func (r *Run) Fitted(run *run.Run) error {
	if r == nil {
		return nil
	}
	for _, s := range run.Curves() {
		if !r.live[s.Name] {
			for _, p := range s.Result.Curve {
				r.point(s.Name, p)
			}
		}
	}
	settings := run.Settings()
	settings["method"], settings["data"], settings["split"], settings["seed"] = run.Spec.Method, run.Spec.Data, run.Spec.Split, run.Spec.Seed
	return r.End(settings, measured(run)...)
}

// measured are the metrics of a run, as its metrics.json has them, and how many codewords its test rows use.
func measured(run *run.Run) (all []Scalar) {
	if !run.Judged() {
		return nil
	}
	for _, m := range run.Outcome.Metrics.Measured() {
		tag := "metrics/" + m.Key
		if m.Key == metrics.NLL.String() || m.Key == metrics.LCE.String() {
			tag = m.Title
		}
		all = append(all, Scalar{tag, m.Value})
	}
	if own := run.Outcome.OwnMetrics; own != nil {
		for _, m := range []metrics.Metric{metrics.LCE, metrics.MLCE} {
			all = append(all, Scalar{"metrics/own_embedding/" + m.String(), own.Values[m]})
		}
	}
	if run.Usage != nil {
		used := data.Each(run.Usage, func(n int) float64 { return float64(n) })
		all = append(all, Scalar{"metrics/codebook_perplexity", layers.Perplexity(used)})
	}
	return all
}

// End ends a run with its settings and metrics.
func (r *Run) End(settings map[string]any, metrics ...Scalar) error {
	if r == nil {
		return nil
	}
	r.events.scalars(0, metrics...)
	r.events.settings(r.began, settings)
	return r.events.close()
}
