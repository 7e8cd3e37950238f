package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/experiments/program"
	"calibra/experiments/report"
	"calibra/experiments/report/tensorboard"
	"calibra/layers/encoders"
	"calibra/optim"
)

type pretrainCmd struct {
	Data    string `required:"" type:"rows" placeholder:"DATA" help:"letter, satellite, digits (embedded), a labelled csv, a CIFAR archive, a MedMNIST npz or a directory of weather data."`
	Encoder string `default:"resmlp" placeholder:"NAME" help:"mlp, resmlp (residual MLP), ftt (FT-Transformer) or resnet (${default})."`
	Network string `placeholder:"JSON" group:"The network:" help:"Settings of the network, as in config.json. The others keep their defaults."`
	tableFlags
	HeldOut float64  `placeholder:"SHARE" group:"The rows:" help:"Share of the rows of a table, from one region of it, that are kept apart as shifted rows (none)."`
	Epochs  int      `placeholder:"N" most:"1000000" default:"-1" help:"Largest number of epochs. 0 trains nothing and keeps --weights (100; ftt 50, resnet 30)."`
	Set     []string `sep:"none" placeholder:"KEY=VALUE" group:"Training:" help:"A setting of the training: batch, rows per step (128); rate, the learning rate (0.001); decay, AdamW's weight decay (0.01; mlp 0); patience, epochs without a better validation NLL to stop after (10). May be repeated."`
	Seed    uint64   `default:"0" help:"Seed of the division of the rows, the weights and the batches (${default})."`
	Weights string   `type:"path" placeholder:"F.safetensors" group:"Training:" help:"Start from these weights of an interrupted run."`
	JSON    bool     `help:"Print the results as JSON."`
	Out     string   `required:"" type:"output" placeholder:"DIR" help:"Directory for weights.safetensors and config.json."`
	deviceFlag
	boardFlag

	optim optim.Settings // that the flags ask for
}

func (c *pretrainCmd) folder() folder { return folder{c.Out, encoders.Group, encoders.Files} }

func (c *pretrainCmd) Run(ctx context.Context, t *terminal, catalog *method.Catalog) error {
	network, err := c.network()
	if err != nil {
		return err
	}
	origin, raw, err := c.rows(catalog)
	if err != nil {
		return err
	}
	settings, err := c.training(raw)
	if err != nil {
		return err
	}
	kept := &keptEncoder{dir: c.Out, origin: origin, columns: raw.Columns, start: time.Now()}
	settings.Checkpoint = kept.checkpoint
	board, err := c.board().Begin(filepath.Base(c.Out))
	if err != nil {
		return err
	}
	if observe := board.Observer(); observe != nil {
		settings.Optim.Observe, settings.Optim.Norms = observe("train"), true
	}
	model, result, err := c.train(ctx, network, raw, settings)
	if err != nil && model != nil {
		return kept.interrupted(model, result, err)
	}
	if err != nil {
		return err
	}
	if err = kept.unsaved; err == nil {
		model.Optimizer = nil // it is done
		err = c.report(t, model, raw, result, func(m *encoders.Model, r optim.Result, scores ...tensorboard.Scalar) error {
			return cmp.Or(kept.save(m, r), board.End(c.chosen(m, settings.Optim), scores...))
		})
	}
	if err != nil && kept.epoch > 0 {
		err = fmt.Errorf("%w; %s holds the weights of epoch %d", err, c.Out, kept.epoch)
	}
	return err
}

// train trains the network, or takes the weights as they are where there are no epochs.
func (c *pretrainCmd) train(ctx context.Context, network encoders.Network, raw *data.Raw, settings encoders.Settings) (*encoders.Model, optim.Result, error) {
	rng := rand.New(rand.NewPCG(c.Seed, 2))
	if c.Epochs == 0 {
		model, err := encoders.Start(network, raw.Train, settings, rng)
		return model, optim.Result{Ended: "the weights are those of " + filepath.Base(c.Weights)}, err
	}
	return encoders.Train(ctx, network, raw.Train, raw.Val, settings, rng)
}

// network is that of the flags. Flags out of their range, or that leave nothing to do, are refused.
func (c *pretrainCmd) network() (encoders.Network, error) {
	network, err := encoders.New(c.Encoder)
	if err != nil {
		return nil, err
	}
	if err := readSettings(c.Network, network); err != nil {
		return nil, err
	}
	if c.Epochs == 0 && c.Weights == "" {
		return nil, data.Inputf("", "no epochs and no --weights leave nothing to keep; give one of the two")
	}
	if c.Epochs < -1 {
		return nil, data.Inputf("", "--epochs must not be negative")
	}
	return network, c.settings()
}

// rows opens the rows that the flags name, and returns where encode finds them again.
func (c *pretrainCmd) rows(catalog *method.Catalog) (origin encoders.Origin, raw *data.Raw, err error) {
	if c.Data, err = data.AbsoluteRaw(c.Data, catalog.RawSources()); err != nil { // encode may be called from elsewhere
		return origin, nil, err
	}
	origin = encoders.Origin{Data: c.Data, Label: c.Label, Header: c.Header, HeldOut: c.HeldOut, LongTail: float64(c.LongTail), Seed: c.Seed}
	if raw, err = origin.Open(nil, catalog.RawSources()...); err != nil {
		return origin, nil, err
	}
	origin.Rows = raw.Train.Digest()
	return origin, raw, nil
}

// training are the settings of the flags for these rows, with the weights to begin from.
func (c *pretrainCmd) training(raw *data.Raw) (settings encoders.Settings, err error) {
	settings = encoders.Settings{Optim: c.optim}
	if settings.Optim.Executor, err = c.executor(); err != nil {
		return settings, err
	}
	settings.Others = data.Each(partsOf(raw)[1:], func(p rawPart) *data.Inputs { return p.rows })
	if c.Weights == "" {
		return settings, nil
	}
	if settings.Start, err = encoders.ReadWeights(c.Weights); err != nil {
		return settings, err
	}
	settings.Optim.Start, err = encoders.ReadOptimizer(c.Weights)
	return settings, err
}

// keptEncoder keeps the best weights so far in a directory.
type keptEncoder struct {
	dir     string
	origin  encoders.Origin
	columns []data.RawColumn
	start   time.Time // of the training
	epoch   int       // whose weights are saved; 0: none are
	unsaved error     // why those of the last checkpoint are not
}

func (k *keptEncoder) save(m *encoders.Model, r optim.Result) error {
	m.Config.Origin, m.Config.Columns = k.origin, k.columns
	m.Config.Result = encoders.Result{Ended: r.Ended, Epochs: r.Epochs, Best: r.Best, Seconds: time.Since(k.start).Seconds()}
	if v := r.Validation; v-v == 0 {
		m.Config.Result.Validation = v
	}
	return m.Save(k.dir)
}

// interrupted saves the weights as far as they were trained, and is the error that states it, or why nothing was saved.
func (k *keptEncoder) interrupted(m *encoders.Model, r optim.Result, interruption error) error {
	if err := k.save(m, r); err != nil {
		return fmt.Errorf("%w, but they cannot be written: %w", interruption, err)
	}
	return fmt.Errorf("%w; %s holds them, and --weights %s goes on from there", interruption, k.dir, filepath.Join(k.dir, "weights.safetensors"))
}

func (k *keptEncoder) checkpoint(m *encoders.Model, e optim.Epoch) {
	if m.Optimizer, k.unsaved = e.State(); k.unsaved != nil {
		return
	}
	if k.unsaved = k.save(m, optim.Result{Ended: "training goes on", Epochs: e.Number, Best: e.Best, Validation: e.Validation}); k.unsaved == nil {
		k.epoch = e.Number
	}
}

// rawPart is a part of raw rows.
type rawPart struct {
	name string
	rows *data.Inputs
}

// partsOf are the parts that are there, the training rows first.
func partsOf(raw *data.Raw) []rawPart {
	all := []rawPart{{"training", raw.Train}, {"validation", raw.Val}, {"calibration", raw.Cal}, {"test", raw.Test}, {"shifted", raw.Shifted}}
	return slices.DeleteFunc(all, func(p rawPart) bool { return p.rows == nil })
}

// report judges the model on all rows, saves it and prints the result.
func (c *pretrainCmd) report(t *terminal, m *encoders.Model, raw *data.Raw, r optim.Result, save func(*encoders.Model, optim.Result, ...tensorboard.Scalar) error) error {
	if raw.Notice != "" {
		t.warn("raw_rows", "warning: of %s %s", raw.Name, raw.Notice)
	}
	list := &report.Table{Labels: []string{"rows"}, Values: report.Heads("N", "ACC", "NLL")}
	var test string
	var scores []tensorboard.Scalar
	for _, part := range partsOf(raw) {
		accuracy, nll, err := encoders.Judge(m, part.rows)
		if err != nil {
			return err
		}
		size := report.Cell{Text: strconv.Itoa(part.rows.Len()), Value: part.rows.Len()}
		list.Add("", report.Row{Labels: []string{part.name}, Cells: []report.Cell{size, report.Number(accuracy, 4), report.Number(nll, 4)}})
		scores = append(scores, tensorboard.Scalar{Tag: "metrics/" + part.name + "_accuracy", Value: accuracy}, tensorboard.Scalar{Tag: "metrics/" + part.name + "_nll", Value: nll})
		if part.name == "test" {
			test = fmt.Sprintf("test accuracy %.4f, NLL %.4f", accuracy, nll)
		}
	}
	if err := save(m, r, scores...); err != nil {
		return err
	}
	if c.JSON {
		return t.json(map[string]any{"encoder": m.Network.Name(), "data": raw.Name, "features": m.Features(), "weights": m.Weights().Size(), "epochs": r.Epochs, "best_epoch": r.Best, "rows": list.Objects(), "out": c.Out})
	}
	about := fmt.Sprintf("%s on %s: %d features, %d weights; %s after %d epochs, weights of epoch %d kept, %.1f s",
		m.Network.Name(), raw.Name, m.Features(), m.Weights().Size(), r.Ended, r.Epochs, r.Best, m.Config.Result.Seconds)
	t.parts(report.Part{Lines: []string{about}}, report.Part{Table: list})
	out := relative(c.Out)
	t.printf("\n%s\n  %s\n", report.Folded("To write the features and logits of the rows that were set aside:", width(t.out)), program.Called("calibra encode --model "+quoted(out)+" --out features.npz"))
	return t.closing(test, out)
}

// chosen are the settings of the network and of its training.
func (c *pretrainCmd) chosen(m *encoders.Model, s optim.Settings) map[string]any {
	all := map[string]any{"encoder": m.Network.Name(), "data": c.Data, "seed": c.Seed, "batch": s.Batch, "epochs": s.Epochs, "patience": s.Patience}
	if rule, ok := s.Rule.(optim.AdamW); ok {
		all["rate"], all["decay"] = rule.Rate, rule.WeightDecay
	}
	if c.Epochs == 0 {
		all["epochs"] = 0
	}
	if text, err := json.Marshal(m.Network); err == nil {
		_ = json.Unmarshal(text, &all) // into the same object
	}
	return all
}

// settings reads those of the training, with each encoder's defaults.
func (c *pretrainCmd) settings() error {
	values, err := method.ReadValues(c.Set)
	if err != nil {
		return err
	}
	decay, epochs := .01, map[string]int{"ftt": 50, "resnet": 30}[c.Encoder]
	if c.Encoder == "mlp" {
		decay = 0
	}
	if c.Epochs >= 0 {
		epochs = c.Epochs
	}
	o := method.Options{Values: values}
	c.optim = optim.Settings{
		Epochs: cmp.Or(epochs, 100), Batch: o.Int("batch", 128, 1, "", "rows per step"),
		Patience: o.Int("patience", 10, 1, "", "epochs without a better validation NLL to stop after"),
		Rule: optim.AdamW{
			Rate:        o.Float("rate", 1e-3, method.Positive, "", "learning rate"),
			WeightDecay: o.Float("decay", decay, method.NonNegative, "", "weight decay of AdamW"),
		},
	}
	return o.Finish("the training has no")
}

// readSettings overwrites the network's settings by those of a JSON object.
func readSettings(text string, n encoders.Network) error {
	if text == "" {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	err := d.Decode(n)
	if err == nil && d.More() {
		err = errors.New("something follows the object")
	}
	if err != nil {
		known, _ := json.Marshal(n)
		return data.Inputf("", "--network %s does not describe %s, whose settings are %s: %w", text, n.Name(), known, err)
	}
	return nil
}
