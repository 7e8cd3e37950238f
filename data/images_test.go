package data

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// record is an image whose first byte of each plane tells the planes apart.
func record(labels ...byte) []byte {
	pixels := make([]byte, cifarPixels)
	pixels[0], pixels[1024], pixels[2048], pixels[3071] = 10, 20, 30, labels[len(labels)-1]
	return append(slices.Clone(labels), pixels...)
}

// imageOf is the bytes of image i.
func imageOf(in *Inputs, i int) []byte { return in.pixels[i*in.Width() : (i+1)*in.Width()] }

// tarball is a .tar.gz of name, content pairs.
func tarball(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for i := 0; i < len(files); i += 2 {
		if err := w.WriteHeader(&tar.Header{Name: files[i], Mode: 0o644, Size: int64(len(files[i+1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func archived10(t testing.TB, last string) []byte {
	files := []string{"cifar-10-batches-bin/batches.meta.txt", "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n"}
	for i := 5; i >= 1; i-- { // the order in the archive is not that of the batches
		files = append(files, fmt.Sprintf("cifar-10-batches-bin/data_batch_%d.bin", i), string(record(byte(i)))+string(record(9)))
	}
	return tarball(t, append(files, "cifar-10-batches-bin/test_batch.bin", last)...)
}

func TestOpenCIFAR10(t *testing.T) {
	train, test, err := openCIFAR(tempFile(t, "cifar-10-binary.tar.gz", archived10(t, string(record(7)))), cifar10)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(train.Labels) != "[1 9 2 9 3 9 4 9 5 9]" || fmt.Sprint(test.Labels) != "[7]" {
		t.Errorf("labels %v, %v", train.Labels, test.Labels)
	}
	if test.Classes[7] != "horse" || len(train.Classes) != 10 {
		t.Errorf("classes %v", train.Classes)
	}
	// red, green and blue of the first pixel, then the last blue one
	if r := imageOf(train, 2); r[0] != 10 || r[1024] != 20 || r[2048] != 30 || r[3071] != 2 {
		t.Errorf("planes %v %v %v, last %v", r[0], r[1024], r[2048], r[3071])
	}
}

func TestOpenCIFAR100(t *testing.T) {
	file := tarball(t, "cifar-100-binary/train.bin", string(record(3, 99)), "cifar-100-binary/test.bin", string(record(1, 0))+string(record(2, 42)))
	train, test, err := openCIFAR(tempFile(t, "cifar-100-binary.tar.gz", file), cifar100)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(train.Labels, test.Labels) != "[99] [0 42]" || len(test.Classes) != 100 {
		t.Errorf("labels %v, %v; %d classes", train.Labels, test.Labels, len(test.Classes))
	}
	if got := imageOf(test, 1)[3071]; got != 42 {
		t.Errorf("last pixel %d, want 42", got)
	}
}

func TestOpenCIFARBad(t *testing.T) {
	for want, file := range map[string][]byte{
		"is not cifar-10-binary.tar.gz":         []byte("hello"),
		"test_batch.bin is truncated":           archived10(t, "short"),
		"holds the label 10 in record 0":        archived10(t, string(record(10))),
		"test_batch.bin holds no image":         archived10(t, ""),
		"is damaged (gzip: invalid checksum)":   checksumBroken(archived10(t, string(record(7)))),
		"has no data_batch_1.bin; download":     tarball(t, "test_batch.bin", string(record(1))),
		"cannot be read (unexpected EOF); down": archived10(t, string(record(7)))[:100],
		"holds more than 268 MB":                append(archived10(t, string(record(7))), bytes.Repeat(gzipped(t, make([]byte, 1<<20)), 1<<12)...), // 4 GB
	} {
		_, _, err := openCIFAR(tempFile(t, "c.tar.gz", file), cifar10)
		var input *InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// gzipped is a .gz, which may follow another.
func gzipped(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(content)
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// checksumBroken is the gzip file with another checksum at its end.
func checksumBroken(file []byte) []byte {
	file[len(file)-8] ^= 1
	return file
}

// What is missing is said with where it comes from and where it should be.
func TestMissingSources(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "tissuemnist.npz")
	_, _, of10 := openCIFAR(path, cifar10)
	_, _, of100 := openCIFAR(path, cifar100)
	_, _, _, medmnist := openMedMNIST(path)
	_, weather := openWeather(dir, []string{"train"}, weatherRows, newRand(1))
	for want, err := range map[string]error{
		"https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz and put it there":     of10,
		"https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz":                     of100,
		"download tissuemnist.npz from https://zenodo.org/records/10519652 and put it": medmnist,
		"shifts_canonical_train.csv: does not exist; unpack https://storage.yandex":    weather,
	} {
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir) || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func medmnist(t testing.TB, shape string, values []float64) []byte {
	labels := array(t, "test_labels", "|u1", "(2, 1)", 1, 7)
	images := array(t, "test_images", "|u1", shape, values...)
	rename := func(m member, name string) member { return member{name, m.npy} }
	return zipped(t, zip.Deflate,
		rename(images, "train_images"), rename(images, "val_images"), images,
		rename(labels, "train_labels"), rename(labels, "val_labels"), labels)
}

func TestOpenMedMNIST(t *testing.T) {
	grey, _, _, err := openMedMNIST(tempFile(t, "tissuemnist.npz", medmnist(t, "(2, 2, 3)", []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255})))
	if err != nil {
		t.Fatal(err)
	}
	if grey.Name != "tissuemnist" || fmt.Sprint(grey.Shape) != "[1 2 3]" || len(grey.Classes) != 8 {
		t.Errorf("got %s %v, %d classes", grey.Name, grey.Shape, len(grey.Classes))
	}
	if fmt.Sprint(grey.Labels, imageOf(grey, 1)) != "[1 7] [6 7 8 9 10 255]" {
		t.Errorf("labels %v, image %v", grey.Labels, imageOf(grey, 1))
	}
	_, val, test, err := openMedMNIST(tempFile(t, "pathmnist.npz", medmnist(t, "(2, 1, 2, 3)", []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})))
	if err != nil {
		t.Fatal(err)
	}
	if val.Shape[0] != 3 || fmt.Sprint(imageOf(test, 0), imageOf(test, 1)) != "[0 3 1 4 2 5] [6 9 7 10 8 11]" {
		t.Errorf("planes %v %v", imageOf(test, 0), imageOf(test, 1))
	}
}

// TestMedMNISTSizes: the splits of one file are images of one size.
func TestMedMNISTSizes(t *testing.T) {
	rename := func(m member, name string) member { return member{name, m.npy} }
	small, large := array(t, "train_images", "|u1", "(1, 1, 2)", 1, 2), array(t, "val_images", "|u1", "(1, 1, 3)", 1, 2, 3)
	label := array(t, "train_labels", "|u1", "(1, 1)", 1)
	file := zipped(t, 0, small, large, rename(small, "test_images"), label, rename(label, "val_labels"), rename(label, "test_labels"))
	_, _, _, err := openMedMNIST(tempFile(t, "m.npz", file))
	if want := "train_images has images of 1×2×1 and val_images of 1×3×1"; !isInput(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestOpenMedMNISTBad(t *testing.T) {
	for want, file := range map[string][]byte{
		"train_images has shape (12,); images are": medmnist(t, "(12,)", make([]float64, 12)),
		"train_images has 3 images and train_lab":  medmnist(t, "(3, 2, 2)", make([]float64, 12)),
		"has no train_images":                      zipped(t, 0, array(t, "x", "|u1", "(1,)", 0)),
		"train_images has shape (2, 0, 3); an ima": medmnist(t, "(2, 0, 3)", nil),
		"train_images must be an array of bytes":   zipped(t, 0, array(t, "train_images", "<f4", "(1, 1, 1)", 0)),
	} {
		if _, _, _, err := openMedMNIST(tempFile(t, "m.npz", file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
