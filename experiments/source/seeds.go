package source

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"calibra/data"
)

// AsSeeds is one origin of the features of one data set by several trainings of a classifier, a file each: the k-th
// file is the problem of the k-th seed. It is named what the files' names begin with in common. Test rows with the same
// labels in all files are taken for the same rows, which same reports, and others for different ones. A file that is
// there twice and files that cannot be of one data set are a *data.InputError.
func AsSeeds(ctx context.Context, files []*Origin, seeds []uint64) (_ *Origin, same bool, _ error) {
	switch {
	case len(files) < 2:
		return nil, false, data.Inputf("", "--as-seeds takes two features files or more; %s is one", files[0].Name)
	case len(seeds) != len(files):
		return nil, false, data.Inputf("", "--as-seeds takes one seed for each file; --seeds names %d for %d files", len(seeds), len(files))
	}
	problems, same := make([]*Problem, len(files)), true
	var named *Problem // the first whose classes have names
	for k, o := range files {
		p, err := o.Features(ctx)
		switch {
		case err != nil:
			return nil, false, err
		case p == nil:
			return nil, false, data.Inputf("", "%s is no features file; --as-seeds takes features files", o.Name)
		case p.Shifted != nil:
			return nil, false, data.Inputf("", "--shifted is of one features file, and --as-seeds of several; leave one of the two out")
		}
		problems[k] = p
		if err := checkWidths(p.Source.Path, p.Source.Test, problems[0].Source.Path, problems[0].Source.Test); err != nil {
			return nil, false, err
		}
		if at := slices.IndexFunc(files[:k], func(other *Origin) bool { return other.Digest == o.Digest }); at >= 0 {
			return nil, false, data.Inputf(p.Source.Path, "holds the same as %s; each seed has a training of its own", problems[at].Source.Path)
		}
		if p.Source.Cal.Names.Classes != nil {
			named = cmp.Or(named, p)
			if err := sameClasses(p.Source, named.Source); err != nil {
				return nil, false, err
			}
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
	return o, same, nil
}

// sameClasses is an *InputError unless two files with as many classes, which have names, call them the same.
func sameClasses(file, other *data.Source) error {
	own, others := file.Cal.Names.Classes, other.Cal.Names.Classes
	for c, name := range own {
		if name != others[c] {
			return data.Inputf(file.Path, "calls class %d %s, and %s calls it %s; they must have the same classes", c, data.Line(name), filepath.Base(other.Path), data.Line(others[c]))
		}
	}
	return nil
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
