package cudatest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unsafe"

	"calibra/graph/cuda"
)

// Profile is a Driver that takes the time of every launch, copy and fill by the clock of
// another. Recordings are replayed launch by launch, behind a delay that keeps the device busy
// until the host has enqueued them all, so that the host's time is not counted. Beside a
// recording it is.
type Profile struct {
	cuda.Driver
	// Delay is how many bytes a fill before each replay writes; 0: none.
	Delay int
	Times map[string]Times // by kernel; copies are "copy", "fill", "upload" and "download"

	names     []string
	functions []cuda.Function
	graphs    [][]func() error
	recording bool
	replaying bool
	pending   []string     // what was marked since the last reading, an interval each
	events    []cuda.Event // one more than the longest pending
	delay     cuda.Pointer
}

// Times is how often something ran, and how long in all.
type Times struct {
	Count int
	Total time.Duration
}

// NewProfile profiles a driver.
func NewProfile(d cuda.Driver) *Profile { return &Profile{Driver: d, Times: map[string]Times{}} }

// mark is event i, reached.
func (p *Profile) mark(s cuda.Stream, i int) error {
	if i == len(p.events) {
		e, err := p.NewEvent()
		if err != nil {
			return err
		}
		p.events = append(p.events, e)
	}
	return p.Mark(p.events[i], s)
}

// timed runs or records work of that name.
func (p *Profile) timed(s cuda.Stream, name string, work func() error) error {
	if p.recording {
		p.graphs[len(p.graphs)-1] = append(p.graphs[len(p.graphs)-1], func() error { return p.timed(s, name, work) })
		return nil
	}
	if len(p.pending) == 0 {
		if err := p.mark(s, 0); err != nil {
			return err
		}
	}
	if err := work(); err != nil {
		return err
	}
	p.pending = append(p.pending, name)
	if err := p.mark(s, len(p.pending)); err != nil || p.replaying {
		return err
	}
	return p.read(s)
}

// read waits for what is pending and adds its times.
func (p *Profile) read(s cuda.Stream) error {
	if err := p.Synchronize(s); err != nil {
		return err
	}
	for i, name := range p.pending {
		ms, err := p.Milliseconds(p.events[i], p.events[i+1])
		if err != nil {
			return err
		}
		t := p.Times[name]
		p.Times[name] = Times{t.Count + 1, t.Total + time.Duration(float64(ms)*float64(time.Millisecond))}
	}
	p.pending = p.pending[:0]
	return nil
}

var _ cuda.Driver = (*Profile)(nil)

func (p *Profile) Function(m cuda.Module, name string) (cuda.Function, error) {
	f, err := p.Driver.Function(m, name)
	p.names, p.functions = append(p.names, name), append(p.functions, f)
	return cuda.Function(len(p.names)), err
}

func (p *Profile) Launch(s cuda.Stream, f cuda.Function, g cuda.Grid, cells []uint64) error {
	cells = slices.Clone(cells)
	return p.timed(s, p.names[f-1], func() error { return p.Driver.Launch(s, p.functions[f-1], g, cells) })
}

func (p *Profile) Copy(s cuda.Stream, dst, src cuda.Pointer, bytes int) error {
	return p.timed(s, "copy", func() error { return p.Driver.Copy(s, dst, src, bytes) })
}

func (p *Profile) Fill(s cuda.Stream, dst cuda.Pointer, word uint32, words int) error {
	return p.timed(s, "fill", func() error { return p.Driver.Fill(s, dst, word, words) })
}

func (p *Profile) Upload(s cuda.Stream, dst cuda.Pointer, src unsafe.Pointer, bytes int) error {
	return p.timed(s, "upload", func() error { return p.Driver.Upload(s, dst, src, bytes) })
}

func (p *Profile) Download(s cuda.Stream, dst unsafe.Pointer, src cuda.Pointer, bytes int) error {
	return p.timed(s, "download", func() error { return p.Driver.Download(s, dst, src, bytes) })
}

func (p *Profile) Capture(cuda.Stream) error {
	p.recording, p.graphs = true, append(p.graphs, nil)
	return nil
}

func (p *Profile) EndCapture(cuda.Stream) (cuda.Graph, error) {
	p.recording = false
	return cuda.Graph(len(p.graphs)), nil
}

func (p *Profile) LaunchGraph(s cuda.Stream, g cuda.Graph) error {
	if p.delay == 0 && p.Delay > 0 {
		var err error
		if p.delay, err = p.Alloc(p.Delay); err != nil {
			return err
		}
	}
	if p.Delay > 0 {
		if err := p.Driver.Fill(s, p.delay, 0, p.Delay/4); err != nil {
			return err
		}
	}
	p.replaying = true
	defer func() { p.replaying = false }()
	for _, work := range p.graphs[g-1] {
		if err := work(); err != nil {
			return err
		}
	}
	return p.read(s)
}

func (p *Profile) FreeGraph(g cuda.Graph) error {
	p.graphs[g-1] = nil
	return nil
}

// Table lists what took longest first: how often it ran, µs each and µs in all, per one of n
// steps.
func (p *Profile) Table(n int) string {
	var s strings.Builder
	var count int
	var total time.Duration
	line := func(name string, t Times) {
		fmt.Fprintf(&s, "%-22s %7.2f × %8.2f µs = %9.2f µs\n", name, float64(t.Count)/float64(n), float64(t.Total.Nanoseconds())/1e3/float64(t.Count), float64(t.Total.Nanoseconds())/1e3/float64(n))
	}
	for _, name := range slices.SortedFunc(maps.Keys(p.Times), func(a, b string) int {
		return cmp.Or(cmp.Compare(p.Times[b].Total, p.Times[a].Total), cmp.Compare(a, b))
	}) {
		line(name, p.Times[name])
		count += p.Times[name].Count
		total += p.Times[name].Total
	}
	line("all", Times{count, total})
	return s.String()
}
