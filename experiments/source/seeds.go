package source

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"calibra/data"
)

// AsSeeds is one origin of the features of one data set by several trainings of a classifier, a file each: the k-th
// file is the problem of the k-th seed. It is named what the files' names begin with in common. Test rows with the same
// labels in all files are taken for the same rows, and others for different ones. Files that cannot be of one data set
// are a *data.InputError.
func AsSeeds(ctx context.Context, files []*Origin, seeds []uint64) (*Origin, error) {
	switch {
	case len(files) < 2:
		return nil, data.Inputf("", "--as-seeds takes two features files or more; %s is one", files[0].Name)
	case len(seeds) != len(files):
		return nil, data.Inputf("", "--as-seeds takes one seed for each file; --seeds names %d for %d files", len(seeds), len(files))
	}
	problems, same := make([]*Problem, len(files)), true
	for k, o := range files {
		p, err := o.Features(ctx)
		switch {
		case err != nil:
			return nil, err
		case p == nil || p.Shifted != nil:
			return nil, data.Inputf("", "%s cannot be a seed; --as-seeds takes features files, without --shifted", o.Name)
		}
		problems[k] = p
		if err := checkWidths(p.Source.Path, p.Source.Test, problems[0].Source.Path, problems[0].Source.Test); err != nil {
			return nil, err
		}
		same = same && slices.Equal(p.Source.Test.Labels, problems[0].Source.Test.Labels)
	}
	o := ofFeatures(stem(files)+".npz", "", "", nil)
	o.features, o.seeded, o.digests = false, true, map[uint64]string{}
	o.classes, o.size = files[0].Classes(), SizeOf(problems[0].Source)
	for k, first := 0, 0; k < len(files); k++ {
		src, test := *problems[k].Source, *problems[k].Source.Test
		test.Numbers = data.UpTo(first + test.Len())[first:]
		if src.Test = &test; !same {
			first += test.Len()
		}
		problems[k] = &Problem{Source: &src, Beside: problems[k].Beside}
		o.digests[seeds[k]] = files[k].Digest
		o.Digest += strings.Repeat(", ", min(k, 1)) + files[k].Digest
	}
	o.load = func(_ context.Context, seed uint64, _ Encoder) (*Problem, error) {
		return problems[slices.Index(seeds, seed)], nil
	}
	return o, nil
}

// DigestOf identifies the contents that the problem of a seed is made of.
func (o *Origin) DigestOf(seed uint64) string { return cmp.Or(o.digests[seed], o.Digest) }

// stem is what the names of files begin with in common, without the number or the word seed that it ends in.
func stem(files []*Origin) string {
	name := files[0].Name
	for _, o := range files {
		for !strings.HasPrefix(o.Name, name) {
			name = name[:len(name)-1]
		}
	}
	const digits, between = "0123456789", "-_. "
	if slices.ContainsFunc(files, func(o *Origin) bool { return strings.IndexAny(o.Name[len(name):], digits) == 0 }) {
		name = strings.TrimRight(name, digits) // all of the number that differs
	}
	return cmp.Or(strings.TrimRight(strings.TrimSuffix(strings.TrimRight(name, between), "seed"), between), "seeds")
}
