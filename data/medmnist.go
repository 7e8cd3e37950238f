package data

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// openMedMNIST reads a data set of the MedMNIST collection (Yang et al. 2023), such
// as tissuemnist.npz, with its official splits. Grey images of N×H×W and colour
// images of N×H×W×3 are read; data sets with several labels an image are
// refused. Whatever is wrong with the file is an *InputError.
func openMedMNIST(path string) (train, val, test *Inputs, err error) {
	f, err := openOr(path, "download %s from https://zenodo.org/records/10519652 and put it there, or name the place where it is", filepath.Base(path))
	if err != nil {
		return nil, nil, nil, err
	}
	f.Close()
	a, err := openArchive(path)
	if err != nil {
		return nil, nil, nil, err
	}
	defer a.close()
	var parts [3]*Inputs
	classes := 0
	for i, name := range []string{"train", "val", "test"} {
		if parts[i], err = a.images(name); err != nil {
			return nil, nil, nil, err
		}
		classes = max(classes, slices.Max(parts[i].Labels)+1)
		if a, b := parts[0], parts[i]; !slices.Equal(a.Shape, b.Shape) {
			return nil, nil, nil, Inputf(path, "train_images has images of %s and %s_images of %s; they must be of one size", a.shape(), name, b.shape())
		}
	}
	for _, p := range parts {
		p.Classes = Numerals(classes)
		p.Name = strings.TrimSuffix(filepath.Base(path), ".npz")
	}
	return parts[0], parts[1], parts[2], nil
}

// images reads one split of a MedMNIST file.
func (a *archive) images(name string) (*Inputs, error) {
	e, err := a.entry(name + "_images")
	if err != nil {
		return nil, err
	}
	if e.kind != 'u' || e.size != 1 || e.fortran {
		return nil, e.fault("must be an array of bytes in C order")
	}
	im := &Inputs{}
	switch s := e.shape; {
	case len(s) == 3:
		im.Shape = []int{1, s[1], s[2]}
	case len(s) == 4 && s[3] == 3:
		im.Shape = []int{3, s[1], s[2]}
	default:
		return nil, e.fault("has shape %s; images are N×H×W or N×H×W×3", shapeString(s))
	}
	n, pixels := e.shape[0], im.Width()
	if pixels == 0 {
		return nil, e.fault("has shape %s; an image must have at least one pixel", shapeString(e.shape))
	}
	if err := CheckRoom("", "the array", n, float64(pixels), "images"); err != nil {
		return nil, e.fault("%w", err)
	}
	err = e.read(func(r io.Reader) error {
		im.pixels = make([]byte, n*pixels)
		_, err := io.ReadFull(r, im.pixels)
		return truncated(err)
	})
	if err != nil {
		return nil, err
	}
	im.index = UpTo(n)
	if im.Shape[0] == 3 {
		im.planes()
	}
	if im.Labels, err = a.labels(name + "_labels"); err != nil {
		return nil, err
	}
	if len(im.Labels) != n {
		return nil, Inputf(a.path, "%s_images has %d images and %s_labels has %d rows; they must have the same", name, n, name, len(im.Labels))
	}
	return im, a.checkLabels(name+"_labels", im.Labels, max(n, fewClasses))
}

// shape is Height×Width×Channels in words.
func (in *Inputs) shape() string {
	return fmt.Sprintf("%d×%d×%d", in.Shape[1], in.Shape[2], in.Shape[0])
}

// planes turns each image from Height×Width×3 into 3×Height×Width.
func (in *Inputs) planes() {
	area := in.Shape[1] * in.Shape[2]
	interleaved := make([]byte, 3*area)
	for image := range slices.Chunk(in.pixels, 3*area) {
		copy(interleaved, image)
		for p := range area {
			for c := range 3 {
				image[c*area+p] = interleaved[3*p+c]
			}
		}
	}
}
