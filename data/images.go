package data

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Images is a labelled sample of images of one size, a byte a pixel and channel.
type Images struct {
	Name                    string
	Classes                 []string // C names
	Channels, Height, Width int
	Pixels                  []byte // N×Channels×Height×Width
	Labels                  []int  // N values in 0…C−1
}

// trainingFractions divides the official training split of an image data set, by
// [Stratify], into the rows that train the classifier, that validate it, and that
// are held out to judge calibrators on; the official test split is the
// calibration set. Both the paper's text and the code behind its tables do this
// to CIFAR; of TissueMNIST, whose validation split is official, half is held out.
var trainingFractions = []float64{0.45, 0.10, 0.45}

// Len is N, the number of images.
func (im *Images) Len() int { return len(im.Labels) }

// Size is the number of values of one image.
func (im *Images) Size() int { return im.Channels * im.Height * im.Width }

// Image is the pixels of image i, Channels×Height×Width; not a copy.
func (im *Images) Image(i int) []byte { return im.Pixels[i*im.Size() : (i+1)*im.Size()] }

// openOr opens path; where nothing is there, the error gives the remedy.
func openOr(path, remedy string, args ...any) (*os.File, error) {
	f, err := OpenFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Inputf(path, "does not exist; %s (%w)", fmt.Sprintf(remedy, args...), os.ErrNotExist)
	}
	return f, err
}
