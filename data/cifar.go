package data

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// The binary versions of CIFAR-10 and CIFAR-100 (Krizhevsky 2009,
// https://www.cs.toronto.edu/~kriz/cifar.html): a record is one label byte, or a
// coarse and a fine one, and 3×32×32 bytes of red, green and blue planes.

// cifar10 has 50,000 training and 10,000 test images of 10 classes.
var cifar10 = cifar{
	name: "cifar10", archive: "cifar-10-binary.tar.gz", labelBytes: 1, classes: 10,
	train: []string{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
	test:  "test_batch.bin", names: "batches.meta.txt",
}

// cifar100 has as many, with 100 fine labels.
var cifar100 = cifar{
	name: "cifar100", archive: "cifar-100-binary.tar.gz", labelBytes: 2, classes: 100,
	train: []string{"train.bin"}, test: "test.bin", names: "fine_label_names.txt",
}

// cifar is one of the two layouts.
type cifar struct {
	name, archive string
	labelBytes    int // the last of them counts
	classes       int
	train         []string
	test, names   string
}

const cifarPixels = 3 * 32 * 32

// mostCIFAR is the number of images of the largest part.
const mostCIFAR = 50_000

// mostUnpacked is how many bytes are unpacked of an archive; either has 184 MB of images.
const mostUnpacked = 256 << 20

// openCIFAR reads the archive as it was downloaded, images in file order. Whatever is wrong
// with the file is an *InputError.
func openCIFAR(file string, c cifar) (train, test *Inputs, err error) {
	f, err := openOr(file, "download https://www.cs.toronto.edu/~kriz/%s and put it there, or name the place where it is", c.archive)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	parts, err := c.unpack(file, f)
	if err != nil {
		return nil, nil, err
	}
	test, train = parts[c.test], &Inputs{}
	for _, name := range append(slices.Clone(c.train), c.test) {
		if parts[name] == nil {
			return nil, nil, Inputf(file, "has no %s; download https://www.cs.toronto.edu/~kriz/%s again", name, c.archive)
		}
		if name != c.test {
			train.pixels = append(train.pixels, parts[name].pixels...)
			train.Labels = append(train.Labels, parts[name].Labels...)
		}
	}
	for _, im := range []*Inputs{train, test} {
		im.Name, im.Classes, im.Shape, im.index = c.name, Numerals(c.classes), []int{3, 32, 32}, UpTo(len(im.Labels))
		if names := parts[c.names]; names != nil && len(names.Classes) == c.classes {
			im.Classes = names.Classes
		}
	}
	return train, test, nil
}

// unpack reads the files of the archive that are a part of the images, or the names of the classes.
func (c cifar) unpack(file string, f io.Reader) (map[string]*Inputs, error) {
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, Inputf(file, "is not %s as it was downloaded: %w", c.archive, err)
	}
	unpacked := &io.LimitedReader{R: z, N: mostUnpacked}
	parts := make(map[string]*Inputs)
	for t := tar.NewReader(unpacked); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, Inputf(file, "cannot be read (%w); download it again", err)
		}
		switch base := path.Base(h.Name); {
		case base == c.names:
			text, err := io.ReadAll(io.LimitReader(t, 1<<16))
			if err != nil {
				return nil, Inputf(file, "%s cannot be read (%w); download it again", base, err)
			}
			parts[base] = &Inputs{Classes: strings.Fields(string(text))}
		case base == c.test || slices.Contains(c.train, base):
			if parts[base], err = c.read(t); err != nil {
				return nil, Inputf(file, "%s %w", base, err)
			}
		}
	}
	// Behind the archive's end is gzip's checksum, which no part of the archive asked for.
	if _, err := io.Copy(io.Discard, unpacked); err != nil {
		return nil, Inputf(file, "is damaged (%w); download it again", err)
	}
	if unpacked.N == 0 {
		return nil, Inputf(file, "holds more than %s, and %s does not; download it again", size(mostUnpacked), c.archive)
	}
	return parts, nil
}

// read reads records up to the end of r.
func (c cifar) read(r io.Reader) (*Inputs, error) {
	im := &Inputs{}
	record := make([]byte, c.labelBytes+cifarPixels)
	for r = bufio.NewReaderSize(r, 1<<16); ; {
		if _, err := io.ReadFull(r, record); errors.Is(err, io.EOF) {
			if im.Labels == nil {
				return nil, errors.New("holds no image; download the archive again")
			}
			return im, nil
		} else if err != nil {
			return nil, truncated(err)
		}
		y := int(record[c.labelBytes-1])
		if y >= c.classes {
			return nil, fmt.Errorf("holds the label %d in record %d; download the archive again", y, len(im.Labels))
		}
		if len(im.Labels) == mostCIFAR {
			return nil, fmt.Errorf("holds more than %d images, and no part of CIFAR does; download the archive again", mostCIFAR)
		}
		im.Labels = append(im.Labels, y)
		im.pixels = append(im.pixels, record[c.labelBytes:]...)
	}
}
