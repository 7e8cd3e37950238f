package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/dsnet/compress/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

var errLength = errors.New("a page has another length than it claims")

// codecs decompress src to dst, which they fill, by the number of the codec.
var codecs = map[int64]func(dst, src []byte) error{
	0: func(dst, src []byte) error {
		if len(src) != len(dst) {
			return errLength
		}
		copy(dst, src)
		return nil
	},
	1: func(dst, src []byte) error {
		if n, err := snappy.DecodedLen(src); err != nil || n != len(dst) {
			return errors.Join(err, errLength)
		}
		_, err := snappy.Decode(dst, src)
		return err
	},
	2: filling(func(r io.Reader, _ int) (io.ReadCloser, error) { return gzip.NewReader(r) }),
	4: filling(func(r io.Reader, _ int) (io.ReadCloser, error) { return brotli.NewReader(r, nil) }),
	6: filling(func(r io.Reader, full int) (io.ReadCloser, error) {
		window := max(zstd.MinWindowSize, min(1<<27, 2*uint64(full)+1<<20))
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(window))
		return d.IOReadCloser(), err
	}),
	7: func(dst, src []byte) error {
		n, err := lz4.UncompressBlock(src, dst)
		if err == nil && n != len(dst) {
			err = errLength
		}
		return err
	},
}

// refused are the codecs that are not read.
var refused = map[int64]string{3: "LZO", 5: "the LZ4 of Hadoop"}

func codecError(codec int64) error {
	if name := refused[codec]; name != "" {
		return fmt.Errorf("it is compressed with %s, which is not read; write it with zstd or snappy", name)
	}
	return fmt.Errorf("it is compressed with codec %d, which the format does not have", codec)
}

// filling fills dst by what open reads of src, which has no more; full is the length of dst.
func filling(open func(src io.Reader, full int) (io.ReadCloser, error)) func(dst, src []byte) error {
	return func(dst, src []byte) error {
		r, err := open(bytes.NewReader(src), len(dst))
		if err != nil {
			return err
		}
		defer r.Close()
		return fill(dst, r)
	}
}

// fill reads dst from r, which has no more.
func fill(dst []byte, r io.Reader) error {
	if _, err := io.ReadFull(r, dst); err != nil {
		return errEarlyOf(err)
	}
	var more [1]byte
	switch n, err := io.ReadFull(r, more[:]); {
	case n != 0:
		return errLength
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
}

func errEarlyOf(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errEarly
	}
	return err
}
