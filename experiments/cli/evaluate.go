package cli

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/metrics"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
	"gonum.org/v1/gonum/mat"
)

type evaluateCmd struct {
	In         string           `required:"" type:"path" placeholder:"P.npz" help:"Predictions: probs, log_probs or logits (N×C), labels (N) and, for the local metrics, an embedding (N×d)."`
	Protocol   metrics.Protocol `default:"tables" placeholder:"tables|formula" help:"What the metrics mean: as behind the paper's tables, or as its appendix prints them (${default})."`
	Embedding  string           `placeholder:"KEY" help:"Array of the file to measure locally in; embedding, if it is there, when none is named."`
	Bandwidth  float64          `default:"10" help:"Bandwidth γ of the Gaussian kernel, in the embedding's units (${default})."`
	Bins       int              `default:"15" help:"Bins of the unit interval (${default})."`
	Binning    string           `default:"width" enum:"width,quantile" help:"Bins of one width, or of about as many rows (${default})."`
	Weights    string           `default:"uniform" enum:"uniform,frequency" help:"Weights of the classes: equal, or as frequent as the labels (${default})."`
	Redraws    int              `default:"50" help:"Redraws of the labels from the predictions for the noise floor; 0 for none (${default})."`
	Replicates int              `default:"200" help:"Bootstrap replicates for the intervals; 0 for none (${default})."`
	Folds      int              `default:"5" help:"Folds of the recoverable loss, where there is an embedding; 0 for none (${default})."`
	Seed       uint64           `default:"0" help:"Seed of redraws, bootstrap and folds (${default})."`
	JSON       bool             `name:"json" help:"Print the report as JSON."`
	Plots      string           `type:"path" placeholder:"DIR" help:"Draw reliability diagrams, in bins of equal width, and the ESS profile into this directory, as SVG, PNG and PDF."`
	HTML       string           `name:"html" type:"path" placeholder:"F.html" help:"Write the report with its figures as one HTML page."`

	deviceFlag
}

func (evaluateCmd) Help() string {
	return `Example:

  calibra evaluate --in predictions.npz
  calibra evaluate --in predictions.npz --protocol formula --json > report.json
  calibra evaluate --in predictions.npz --embedding embedding_own --plots figures
  calibra evaluate --in predictions.npz --html report.html

Every metric comes with its 95 % bootstrap interval and with its noise floor: what
the same metric shows when labels are redrawn from the predictions, so that they
are perfectly calibrated. Recoverable NLL is what corrections save on rows they were not
fitted to: of the predictions alone (global), and what the embedding adds to that (local).`
}

func (c *evaluateCmd) Run(ctx context.Context) error {
	settings, uncertainty, err := c.settings()
	if err != nil {
		return err
	}
	executor, err := c.executor()
	if err != nil {
		return err
	}
	p, embedding, err := c.read()
	if err != nil {
		return err
	}
	undo := func() {}
	if c.HTML != "" {
		if err := data.CheckFile(c.page()); err != nil {
			return err
		}
	}
	if c.Plots != "" {
		if undo, err = experiments.PrepareDir(c.Plots, plotsGroup, pictures(plots...)...); err != nil {
			return err
		}
	}
	bar := newKernelBar(os.Stderr)
	settings.Progress = bar.show
	settings.Executor = executor
	r, err := metrics.Evaluate(ctx, p.LogProbs, p.Labels, embedding, settings, uncertainty, c.rng())
	if err == nil && embedding != nil && c.Folds > 0 {
		r.Recovered, err = metrics.Recover(ctx, p.LogProbs, p.Labels, embedding, metrics.Recovery{Folds: c.Folds}, c.rng())
	}
	bar.clear()
	if err != nil {
		undo()
		return asUsage(err)
	}
	if c.Plots != "" || c.HTML != "" {
		drawn, err := c.drawings(p, r)
		if err != nil {
			return err
		}
		if c.Plots != "" {
			if err := c.draw(drawn); err != nil {
				return err
			}
		}
		if c.HTML != "" {
			if err := c.writePage(r, drawn); err != nil {
				return err
			}
		}
	}
	if c.JSON {
		text, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		return toStdout(func(out io.Writer) { fmt.Fprintln(out, string(text)) })
	}
	return toStdout(func(out io.Writer) { printReport(out, r) })
}

// toStdout prints in one piece: a report that a full disk cuts short is an error.
func toStdout(print func(io.Writer)) error {
	var text bytes.Buffer
	print(&text)
	if _, err := os.Stdout.Write(text.Bytes()); err != nil {
		return fmt.Errorf("the report could not be printed: %w", err)
	}
	return nil
}

func (c *evaluateCmd) rng() *rand.Rand { return rand.New(rand.NewPCG(c.Seed, 0)) }

// settings turns the flags into settings, in which 0 means the default.
func (c *evaluateCmd) settings() (s metrics.Settings, u metrics.Uncertainty, err error) {
	switch {
	case !(c.Bandwidth > 0):
		return s, u, usageError{fmt.Errorf("--bandwidth is %v; it must be positive", c.Bandwidth)}
	case c.Bins < 1:
		return s, u, usageError{fmt.Errorf("--bins is %d; there must be at least one", c.Bins)}
	case c.Redraws < 0:
		return s, u, usageError{fmt.Errorf("--redraws is %d; it must be 0 or more", c.Redraws)}
	case c.Folds < 0 || c.Folds == 1:
		return s, u, usageError{fmt.Errorf("--folds is %d; there must be two or more, or 0 for none", c.Folds)}
	case c.Replicates < 0:
		return s, u, usageError{fmt.Errorf("--replicates is %d; it must be 0 or more", c.Replicates)}
	}
	s = metrics.Settings{Protocol: c.Protocol, Bins: c.Bins, Bandwidth: c.Bandwidth}
	if c.Binning == metrics.Quantile.String() {
		s.Binning = metrics.Quantile
	}
	if c.Weights == "frequency" {
		s.Weighting = metrics.Frequency
	}
	orNone := func(n int) int {
		if n == 0 {
			return metrics.None
		}
		return n
	}
	return s, metrics.Uncertainty{Replicates: orNone(c.Replicates), Redraws: orNone(c.Redraws)}, nil
}

// read reads the predictions and the embedding of one and the same file.
func (c *evaluateCmd) read() (*data.Predictions, *mat.Dense, error) {
	release, err := data.Hold(c.In)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	p, err := data.ReadPredictions(c.In)
	if err != nil {
		return nil, nil, err
	}
	if p.Labels == nil {
		return nil, nil, data.Inputf(c.In, "has no labels to judge the predictions by")
	}
	embedding, err := c.embedding()
	return p, embedding, err
}

// embedding reads the array named, or the one of the default name if the file has it.
func (c *evaluateCmd) embedding() (*mat.Dense, error) {
	key := c.Embedding
	if key == "" {
		key = "embedding"
		has, err := hasArray(c.In, key)
		if err != nil || !has {
			return nil, err
		}
	}
	return data.ReadMatrix(c.In, key)
}

// hasArray says whether the npz file at path, a zip archive, holds key.
func hasArray(path, key string) (bool, error) {
	archive, err := zip.OpenReader(path)
	if err != nil {
		return false, data.Inputf(path, "cannot be read: %w", err)
	}
	defer archive.Close()
	return slices.ContainsFunc(archive.File, func(f *zip.File) bool { return f.Name == key+".npy" }), nil
}

// asUsage marks an error of what sees only input and flags as the user's to mend, but not
// an interruption.
func asUsage(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return usageError{err}
}

// printReport prints one line per metric, then the independent checks.
func printReport(out io.Writer, r *metrics.Report) {
	fmt.Fprintf(out, "%d rows, %d classes, protocol %s\n\n", r.Rows, r.Classes, r.Protocol)
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	head := "metric\tvalue\t"
	if r.Uncertainty.Replicates > 0 {
		head += "95 % interval\t"
	}
	if r.Uncertainty.Redraws > 0 {
		head += "noise floor\t95th pct\texcess\tp calibrated\t"
	}
	fmt.Fprintln(w, head)
	for m := range metrics.Metrics {
		if math.IsNaN(r.Values[m]) {
			continue
		}
		fmt.Fprintf(w, "%s\t%.5f\t", m.Title(), r.Values[m])
		if r.Uncertainty.Replicates > 0 {
			fmt.Fprintf(w, "%.5f – %.5f\t", r.Intervals[m].Low, r.Intervals[m].High)
		}
		if n := r.Noise[m]; n != nil {
			fmt.Fprintf(w, "%.5f ± %.5f\t%.5f\t%+.5f\t%.3f\t", n.Mean, n.SD, n.P95, n.Excess, n.PValue)
		}
		fmt.Fprintln(w)
	}
	w.Flush()

	fmt.Fprintf(out, "\nless their noise: ECE %.5f, ECE (top) %.5f, squared error %.3g", r.Checks.ECEDebiased, r.Checks.TopECEDebiased, r.Checks.SquaredDebiased)
	if !math.IsNaN(r.Checks.SKCE) {
		fmt.Fprintf(out, "; kernel calibration error %.3g", r.Checks.SKCE)
		if n := r.Checks.SKCENoise; n != nil {
			fmt.Fprintf(out, " (p %.3f)", n.PValue)
		}
	}
	fmt.Fprintln(out)
	if g := r.Recovered; g != nil {
		fmt.Fprintf(out, "recoverable NLL: %+.5f nats a row by the predictions alone (at least %+.5f), %+.5f more by the embedding (at least %+.5f)\n",
			g.NLL.Global.Value, g.NLL.Global.Low, g.NLL.Local.Value, g.NLL.Local.Low)
	}
	if missing := r.Missing(); missing != "" {
		fmt.Fprintln(out, missing)
	}
}

// kernelBar shows the kernel's progress on a terminal once work takes two seconds.
type kernelBar struct {
	out   *os.File
	began time.Time
	bar   *progressbar.ProgressBar
}

func newKernelBar(out *os.File) *kernelBar { return &kernelBar{out: out, began: time.Now()} }

func (b *kernelBar) show(done, total int) {
	if b.bar == nil {
		if time.Since(b.began) < 2*time.Second || !term.IsTerminal(int(b.out.Fd())) {
			return
		}
		b.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(b.out),
			progressbar.OptionSetDescription("measuring"),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(),
		)
	}
	_ = b.bar.Set(done) // a terminal that cannot be written to shows nothing
}

func (b *kernelBar) clear() {
	if b.bar != nil {
		_ = b.bar.Finish()
	}
}
