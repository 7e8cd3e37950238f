package tensorboard

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"time"

	"calibra/data"
	"calibra/data/disk"
	"calibra/graph/onnx/protobuf"
)

// eventFile is the name of a run's file. A run of the same name begins it anew.
const eventFile = "events.out.tfevents.calibra"

// events is a file of events: records of TensorFlow's TFRecord format, each a protocol buffer Event
// (tensorflow/core/util/event.proto). Each is in the file as soon as it was added.
type events struct {
	file *os.File
	err  error // of the first write that failed
}

// newEvents begins the file in dir, which is made where it is not there.
func newEvents(dir string) (*events, error) {
	if err := disk.MkdirAll(dir); err != nil {
		return nil, data.Inputf(dir, "cannot be made for TensorBoard: %w", err)
	}
	path := filepath.Join(dir, eventFile)
	if err := disk.CheckFile(path); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return nil, data.Inputf(path, "cannot be written for TensorBoard: %w", err)
	}
	e := &events{file: file}
	e.add(event(0).Text(3, "brain.Event:2")) // file_version
	return e, nil
}

// event is an Event of now at a step.
func event(step int) protobuf.Message {
	return protobuf.Message{}.Double(1, float64(time.Now().UnixNano())/1e9).Number(2, int64(step)) // wall_time, step
}

// add adds an Event as a record: its length, the length's checksum, the event, its checksum.
func (e *events) add(event protobuf.Message) {
	if e.err != nil {
		return
	}
	record := binary.LittleEndian.AppendUint64(nil, uint64(len(event)))
	record = binary.LittleEndian.AppendUint32(record, masked(record))
	record = append(record, event...)
	record = binary.LittleEndian.AppendUint32(record, masked(event))
	_, e.err = e.file.Write(record)
}

// masked is the CRC-32C of b, rotated and shifted, as checksums of bytes that hold checksums would be weak.
func masked(b []byte) uint32 {
	sum := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	return (sum>>15 | sum<<17) + 0xa282ead8
}

// close ends the file. The error is that of the first write that failed.
func (e *events) close() error {
	err := e.file.Close()
	if e.err != nil {
		err = e.err
	}
	if err != nil {
		return data.Inputf(e.file.Name(), "cannot be written for TensorBoard: %w", err)
	}
	return nil
}

// Scalar is a number under its tag.
type Scalar struct {
	Tag   string
	Value float64
}

// scalars adds numbers of one step; NaN are left out.
func (e *events) scalars(step int, all ...Scalar) {
	var summary protobuf.Message
	for _, s := range all {
		if !math.IsNaN(s.Value) {
			summary = summary.Bytes(1, protobuf.Message{}.Text(1, s.Tag).Single(2, float32(s.Value))) // value: tag, simple_value
		}
	}
	if summary != nil {
		e.add(event(step).Bytes(5, summary)) // summary
	}
}
