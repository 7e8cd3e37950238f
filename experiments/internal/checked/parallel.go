package checked

import "sync"

// Progress counts what is done and tells it, one report at a time.
type Progress struct {
	lock        sync.Mutex
	done, Total int
	Report      func(done, total int)
}

func (p *Progress) Add(rows int) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.done += rows
	if p.Report != nil {
		p.Report(p.done, p.Total)
	}
}
