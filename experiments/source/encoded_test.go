package source_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/experiments/source"
	"calibra/layers/encoders"

	"gonum.org/v1/gonum/mat"
)

// TestPaperEncoders: the encoders of the paper make problems of tables and images, with the rows and numbers of the
// network that calibra pretrain trains on the same data, for as many epochs, and each of its own width.
func TestPaperEncoders(t *testing.T) {
	images := cifar10(t)
	for _, c := range []struct {
		arg, encoder string
		features     int
	}{{"digits", "resmlp", 128}, {table(t), "ftt", 64}, {images, "resnet", 64}, {images, "resnet-cifar100", 64}} {
		o, err := source.Registry(nil).Open(c.arg, source.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(o.Encoders, func(e source.Encoder) bool { return e.Name == c.encoder })
		o.Encoders = slices.Clone(o.Encoders)
		o.Encoders[at].Optim.Epochs = 1
		p, err := o.Load(t.Context(), 3, c.encoder, "")
		if err != nil {
			t.Fatalf("%s: %v", c.encoder, err)
		}
		rng := rand.New(rand.NewPCG(3, 1)) // as encoders.Origin opens rows
		raw, err := data.OpenRaw(c.arg, data.RawSettings{}, rng)
		if err == nil {
			err = raw.HoldBack(rng)
		}
		if err != nil {
			t.Fatal(err)
		}
		e := o.Encoders[at]
		m, _, err := encoders.Train(t.Context(), e.Network(), raw.Train, raw.Val, encoders.Settings{Optim: e.Optim},
			rand.New(rand.NewPCG(3, 2)))
		if err != nil {
			t.Fatal(err)
		}
		want, err := encoders.EncodeInputs(t.Context(), m, raw.Test)
		if err != nil {
			t.Fatal(err)
		}
		got := p.Source.Test
		same := mat.Equal(got.Logits, want.Logits) && slices.Equal(got.Numbers, raw.Test.Set().Numbers)
		if !same || got.Width() != c.features {
			t.Errorf("%s: the test rows have %d features and are not those of the same network", c.encoder, got.Width())
		}
		size, err := o.Size(t.Context(), c.encoder)
		if err != nil || size != source.SizeOf(p.Source) || o.Training(size, c.encoder) <= o.Training(size, "") {
			t.Errorf("%s claims %+v (%v), and takes %v s", c.encoder, size, err, o.Training(size, c.encoder))
		}
	}
	for _, c := range []struct{ arg, encoder, want string }{
		{"digits", "resnet", "resnet is for images, and digits is a table; choose one of mlp, mlp-shallow, mlp-wide, resmlp, ftt"},
		{images, "ftt", "ftt is for tables, and cifar10 holds images; choose one of mlp"},
		{"cubic", "resnet", "has features already"},
	} {
		o, err := source.Registry(nil).Open(c.arg, source.Settings{})
		if err == nil {
			_, err = o.Size(t.Context(), c.encoder)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s on %s: %v", c.encoder, c.arg, err)
		}
	}
}
