package layers

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"calibra/data"
	"calibra/data/disk"
	"calibra/graph"
)

// modelFormat and modelVersion stand in the metadata of every model file.
const (
	modelFormat  = "calibra"
	modelVersion = "2"
)

// Model is the content of a model file: a method's name, the settings that it was built with where they are not its
// defaults or depend on the rows, and its fitted state.
type Model struct {
	Method   string
	Settings map[string]string
	State    State
	Profile  *Profile // of the rows it was fitted on; nil where the file does not have them
	Names    data.Names
	Scores   data.Scores // what their logits were; "" where the file does not name them
	Floor    float64     // of their probabilities, as of a [data.Source]; 0: none
}

// NewModel is a fitted calibrator as a file holds it. Settings and Profile are left to be
// set.
func NewModel(method string, c Stateful) (*Model, error) {
	if c == nil {
		return nil, ErrUnfitted
	}
	s, err := c.State()
	if err == nil && s.Weights == nil {
		err = fmt.Errorf("layers: the State of %s has no weights; a calibrator without any gives graph.NewWeights(tensor.Float64)", NameOf(c))
	}
	return &Model{Method: method, State: s}, err
}

// WriteModel saves a fitted calibrator as one file, see [Model.Write].
func WriteModel(path, method string, c Stateful) error {
	m, err := NewModel(method, c)
	if err != nil {
		return err
	}
	return m.Write(path)
}

// Write saves the model as one safetensors file, readable from Python's safetensors: the
// weights as tensors, Profile under inputs/, and in the metadata the
// strings format, version, method, config (JSON) and, where there are any, settings,
// class_names and feature_names (JSON). The file appears whole or not at all.
func (m *Model) Write(path string) error { return disk.WriteFile(path, m.Encode) }

// Encode writes the bytes of that file.
func (m *Model) Encode(out io.Writer) error {
	metadata := map[string]string{"format": modelFormat, "version": modelVersion, "method": m.Method, "config": string(m.State.Config)}
	for key, value := range m.told() {
		if reflect.ValueOf(value).Elem().Len() == 0 {
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("layers: the %s of %s: %w", key, m.Method, err)
		}
		metadata[key] = string(text)
	}
	if m.Scores != "" {
		metadata["scores"] = string(m.Scores)
	}
	if m.Floor != 0 {
		metadata["floor"] = strconv.FormatFloat(m.Floor, 'g', -1, 64)
	}
	dt := m.State.Weights.Dtype()
	all := graph.NewWeights(dt).Join(m.State.Weights, m.Profile.weights(dt))
	return graph.WriteSafetensors(out, all, metadata)
}

// ReadModel reads a model file. Whatever is wrong with it is a *data.InputError;
// whether the weights fit the method, its Restore decides.
func ReadModel(path string) (*Model, error) {
	file, err := data.ReadFile(path)
	if err != nil {
		return nil, err
	}
	w, meta, err := graph.ReadSafetensors(file)
	if err != nil {
		return nil, data.Inputf(path, "%w", err)
	}
	if meta["format"] != modelFormat {
		return nil, data.Inputf(path, "this safetensors file is not a Calibra model; write one with calibra fit")
	}
	if meta["version"] != modelVersion {
		return nil, data.Inputf(path, "the model has version %q and this program reads version %s: it is of another program or damaged; use the calibra that wrote it, or fit it again", meta["version"], modelVersion)
	}
	if !json.Valid([]byte(meta["config"])) {
		return nil, data.Inputf(path, "the model's configuration is no JSON")
	}
	m := &Model{Method: meta["method"]}
	if text := meta["floor"]; text != "" {
		if m.Floor, err = strconv.ParseFloat(text, 64); err != nil {
			return nil, data.Inputf(path, "the model's floor cannot be read: %w", err)
		}
	}
	for key, value := range m.told() {
		if text := meta[key]; text != "" {
			if err := json.Unmarshal([]byte(text), value); err != nil {
				return nil, data.Inputf(path, "the model's %s cannot be read: %w", key, err)
			}
		}
	}
	profile, weights := w.Split(func(name string) bool { return strings.HasPrefix(name, profilePrefix) })
	m.State, m.Profile, m.Scores = State{json.RawMessage(meta["config"]), weights}, readProfile(profile), data.Scores(meta["scores"])
	return m, nil
}

// told are the parts that the metadata have as JSON where they are not empty.
func (m *Model) told() map[string]any {
	return map[string]any{"settings": &m.Settings, "class_names": &m.Names.Classes, "feature_names": &m.Names.Features}
}

// Restore puts the model's state into a calibrator of its method.
func (m *Model) Restore(into Stateful) error {
	if err := into.Restore(m.State); err != nil {
		return fmt.Errorf("the model does not fit its method %s: %w; fit it again", m.Method, err)
	}
	return nil
}
