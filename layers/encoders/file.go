package encoders

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"path/filepath"

	"calibra/data"
	"calibra/data/disk"
	"calibra/graph"

	"gorgonia.org/tensor"
)

// The files of a model's directory.
const (
	weightsFile   = "weights.safetensors"
	configFile    = "config.json"
	optimizerFile = "optimizer.safetensors" // of a checkpoint
)

// Config is the record in a model's directory beside the weights.
type Config struct {
	Architecture string           `json:"architecture"`      // mlp, resmlp, ftt, resnet
	Settings     json.RawMessage  `json:"settings"`          // the network's own
	Columns      []data.RawColumn `json:"columns,omitempty"` // of a table, and what a row has of each
	Shape        []int            `json:"shape"`             // of a row
	Classes      []string         `json:"classes"`           // C names
	Scale        Scale            `json:"scale"`             // what rows are standardized by
	Origin       Origin           `json:"origin"`            // where the rows came from
	Result       Result           `json:"result"`
}

// Origin names the rows that a model was trained on, so that those it is calibrated on
// are others: the arguments of [data.OpenRaw].
type Origin struct {
	Data     string      `json:"data"`
	Label    string      `json:"label,omitempty"`
	Header   data.Header `json:"header,omitempty"`
	HeldOut  float64     `json:"held_out,omitempty"`
	LongTail float64     `json:"long_tail,omitempty"`
	Seed     uint64      `json:"seed"`
	// Rows is the digest of the training rows (see [data.Inputs.Digest]), "" where it was
	// not recorded: files change, and a division by seed then gives other rows.
	Rows string `json:"training_rows,omitempty"`
}

// Open reads the rows and divides them as for training, a table's columns as columns says, nil: as
// the rows that train say; [data.OpenRaw] is to know sources besides its own.
func (o Origin) Open(columns []data.RawColumn, sources ...data.RawSource) (*data.Raw, error) {
	rng := rand.New(rand.NewPCG(o.Seed, 1))
	raw, err := data.OpenRaw(o.Data, data.RawSettings{Sources: sources, Columns: columns, Label: o.Label, Header: o.Header, HeldOut: o.HeldOut, LongTail: o.LongTail}, rng)
	if err != nil {
		return nil, err
	}
	return raw, raw.HoldBack(rng)
}

// Result is how the training ended.
type Result struct {
	Ended      string  `json:"ended"`
	Epochs     int     `json:"epochs"`
	Best       int     `json:"best_epoch"`
	Validation float64 `json:"validation_nll,omitempty"` // 0 where none was measured
	Seconds    float64 `json:"seconds"`
}

// architectures are the networks that a directory may hold, with default settings.
var architectures = []func() Network{
	func() Network { return &MLP{} },
	func() Network { return &ResMLP{} },
	func() Network { return &FTTransformer{} },
	func() Network { return &ResNet{} },
}

// New is the architecture of that name with its default settings.
func New(name string) (Network, error) {
	a, err := data.Find("encoder", name, architectures, nameOf)
	if err != nil {
		return nil, err
	}
	return a(), nil
}

func nameOf(architecture func() Network) string { return architecture().Name() }

// Group is the disk.Folder group of a model, and Files are its files.
const Group = "pretrain"

// Files are the names of the files of a model.
var Files = []string{weightsFile, configFile, optimizerFile}

// Save writes the model to dir: weights.safetensors, a state dict in PyTorch's layout, and
// config.json, both or neither.
func (m *Model) Save(dir string) error {
	var err error
	if m.Config.Settings, err = json.Marshal(m.Network); err != nil {
		return fmt.Errorf("encoders: save: %w", err)
	}
	config, err := json.MarshalIndent(m.Config, "", "  ")
	if err != nil {
		return fmt.Errorf("encoders: save: %w", err)
	}
	f := disk.NewFolder(dir, Group)
	defer f.Discard()
	f.WriteFile(weightsFile, func(w io.Writer) error {
		return graph.WriteSafetensors(w, m.weights.As(tensor.Float32), map[string]string{"format": "pt", "architecture": m.Network.Name()})
	})
	f.WriteBytes(configFile, append(config, '\n'))
	if m.Optimizer != nil {
		f.WriteFile(optimizerFile, func(w io.Writer) error { return graph.WriteSafetensors(w, m.Optimizer, nil) })
	}
	return f.Commit()
}

// ReadWeights reads the weights that Save wrote to path. Whatever is wrong with the file is a *data.InputError.
func ReadWeights(path string) (*graph.Weights, error) {
	file, err := data.ReadFile(path)
	if err != nil {
		return nil, err
	}
	w, _, err := graph.ReadSafetensors(file)
	if err != nil {
		return nil, data.Inputf(path, "%w", err)
	}
	return w, nil
}

// assign overwrites w by the tensors of the same names in from, which must be of the same network.
func assign(w, from *graph.Weights) error {
	if err := from.Require(w.Shapes()); err != nil {
		return fmt.Errorf("they are of another network: %w", err)
	}
	for _, name := range w.Names() {
		if err := tensor.Copy(w.Tensor(name), from.Tensor(name)); err != nil {
			return fmt.Errorf("the weight %q: %w", name, err)
		}
	}
	return nil
}

// ReadOptimizer reads the optimizer's state of the checkpoint whose weights are at path. It is
// nil if there is none: the weights are then no checkpoint's.
func ReadOptimizer(path string) (*graph.Weights, error) {
	path = filepath.Join(filepath.Dir(path), optimizerFile)
	w, err := ReadWeights(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return w, err
}

// Load reads a model that Save wrote. Whatever is wrong with its files is a
// *data.InputError.
func Load(dir string) (*Model, error) {
	path := filepath.Join(dir, configFile)
	held, err := disk.Hold(path) // weights and configuration are read one after the other
	if err != nil {
		return nil, err
	}
	defer held.Release()
	text, err := data.ReadConfiguration(held.Path(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, data.Inputf(path, "cannot be read; write an encoder with calibra pretrain --out %s (%w)", dir, err)
	}
	if err != nil {
		return nil, err
	}
	m := &Model{}
	if err := json.Unmarshal(text, &m.Config); err != nil {
		return nil, data.Inputf(path, "is no configuration of an encoder: %w", err)
	}
	c := &m.Config
	if m.Network, err = New(c.Architecture); err != nil {
		return nil, data.Inputf(path, "%w", err)
	}
	if err := json.Unmarshal(c.Settings, m.Network); err != nil {
		return nil, data.Inputf(path, "the settings of %s cannot be read: %w", c.Architecture, err)
	}
	if err := c.check(); err != nil {
		return nil, data.Inputf(path, "%w", err)
	}
	w, err := m.Network.Init(c.Shape, len(c.Classes), rand.New(rand.NewPCG(0, 0)))
	if err != nil {
		return nil, data.Inputf(path, "%w", err)
	}
	m.weights = w.As(tensor.Float32)
	path = held.Path(filepath.Join(dir, weightsFile))
	start, err := ReadWeights(path)
	if err != nil {
		return nil, err
	}
	if err := assign(m.weights, start); err != nil {
		return nil, data.Inputf(path, "%w", err)
	}
	return m, nil
}

// check refuses shapes and scales that no training writes.
func (c *Config) check() error {
	channels := 0
	switch len(c.Shape) {
	case 1, 3:
		channels = c.Shape[0]
	default:
		return fmt.Errorf("the shape of a row has %d dimensions, not 1 or 3", len(c.Shape))
	}
	values := 1
	for _, d := range c.Shape {
		if d < 1 || d > 1<<24/values { // no row has as many, and the weights grow with them
			return fmt.Errorf("%v cannot be the shape of a row", c.Shape)
		}
		values *= d
	}
	if m := data.RawWidth(c.Columns); c.Columns != nil && (len(c.Shape) != 1 || m != values) {
		return fmt.Errorf("the columns have %d numbers and a row %d", m, values)
	}
	if len(c.Classes) < 2 {
		return fmt.Errorf("a classifier needs at least two classes, not %d", len(c.Classes))
	}
	if len(c.Scale.Mean) != channels || len(c.Scale.SD) != channels {
		return fmt.Errorf("rows of shape %v need %d means and standard deviations", c.Shape, channels)
	}
	for _, mean := range c.Scale.Mean {
		if mean-mean != 0 {
			return fmt.Errorf("a mean of %v is not finite", mean)
		}
	}
	for _, sd := range c.Scale.SD {
		if !(sd > 0 && sd <= math.MaxFloat64) {
			return fmt.Errorf("a standard deviation of %v is not positive and finite", sd)
		}
	}
	return nil
}
