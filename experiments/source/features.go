package source

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"calibra/data"
	"calibra/experiments/rowcheck"
)

// featuresOrigin reads a features file once; the name of an npz file is DATASET-BACKBONE.npz.
func featuresOrigin(path string, s Settings) (*Origin, error) {
	shifted := s.Shifted
	digest, err := fileDigest(path, shifted)
	if err != nil {
		return nil, err
	}
	load := sync.OnceValues(func() (*Problem, error) {
		p, err := openLabelled(path, s.Scores)
		if err != nil {
			return nil, err
		}
		src := p.Source
		if shifted != "" {
			other, err := data.Open(shifted)
			if err != nil {
				return nil, err
			}
			if err := other.Require("test_features", "test_logits", "test_labels"); err != nil {
				return nil, err
			}
			other.Floor = src.Floor
			if err := other.Settle(src.Scores); err != nil {
				return nil, err
			}
			if err := checkWidths(shifted, other.Test, path, src.Test); err != nil {
				return nil, err
			}
			p.Shifted, p.Shift = other.Test, GivenShift
		}
		return p, nil
	})
	o := ofFeatures(path, digest, s.Scores, load)
	if shifted != "" {
		o.Shifts = []Shift{GivenShift, ThinShift}
	}
	return o, nil
}

// WholeOrigin is the origin of one labelled set (see [data.OpenWhole]), which folds divide. Its logits are read as as
// says or, if as is "", as their values look.
func OpenWhole(ctx context.Context, path string, as data.Scores) (*Origin, error) {
	src, err := data.OpenWhole(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := src.Settle(as); err != nil {
		return nil, err
	}
	digest, err := data.Digest(path)
	if err != nil {
		return nil, err
	}
	p := &Problem{Source: src, Beside: &rowcheck.Findings{Labels: rowcheck.OtherLabels("rows", src.Cal)}}
	src.Cal.TestWeights, p.Beside.Copies = rowcheck.CountCopies(src.Cal)
	return ofFeatures(path, digest, as, func() (*Problem, error) { return p, nil }), nil
}

// ofFeatures is the origin of a features file, whose cells are others where its logits are read as
// something else.
func ofFeatures(path, digest string, as data.Scores, load func() (*Problem, error)) *Origin {
	if as != "" {
		digest += "-" + string(as)
	}
	name := strings.TrimSuffix(filepath.Base(path), ".npz")
	o := &Origin{Name: name, Digest: digest, Shifts: []Shift{ThinShift}, features: true,
		load: func(context.Context, uint64, Encoder) (*Problem, error) { return load() }}
	o.Dataset, o.Backbone, _ = strings.Cut(name, "-")
	o.Dataset = calledInTables(o.Dataset)
	return o
}

func openLabelled(path string, as data.Scores) (*Problem, error) {
	src, err := data.Open(path)
	if err != nil {
		return nil, err
	}
	if err := src.Require("cal_labels", "test_labels"); err != nil {
		return nil, err
	}
	if err := src.Settle(as); err != nil {
		return nil, err
	}
	beside := rowcheck.Find(src)
	return &Problem{Source: src, Beside: &beside}, nil
}

// calledInTables is a data set as the paper's tables call it.
func calledInTables(dataset string) string {
	if dataset == "tissuemnist" {
		return "tissue"
	}
	return dataset
}

// knownClasses names the classes of data sets whose feature files hold numbers.
var knownClasses = map[string][]string{
	"cifar10": {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"},
}

// checkWidths returns an *InputError unless the rows of two files have as many logits and
// features.
func checkWidths(path string, rows *data.Set, other string, with *data.Set) error {
	if a, b := rows.Classes(), with.Classes(); a != b {
		return data.Inputf(path, "has logits of %d classes, %s of %d; they must have the same", a, filepath.Base(other), b)
	}
	if a, b := rows.Width(), with.Width(); a != b {
		return data.Inputf(path, "has %d features a row, %s has %d; they must have the same", a, filepath.Base(other), b)
	}
	return nil
}

// fileDigest is the digest of the files; "" is no file.
func fileDigest(paths ...string) (string, error) {
	named := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return path == "" })
	digest, err := data.Digest(named...)
	var input *data.InputError
	if errors.Is(err, fs.ErrNotExist) && errors.As(err, &input) {
		return "", data.Inputf(input.Path, "does not exist; name an npz file with the arrays cal_features, cal_logits, cal_labels "+
			"and the same of test, or one of %s", strings.Join(names(), ", "))
	}
	return digest, err
}
