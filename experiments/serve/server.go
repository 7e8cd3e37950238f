package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/report"
)

// Server shows the runs below a folder.
type Server struct {
	root    *os.Root
	catalog *experiments.Catalog
	kept    kept
	weigh   chan struct{} // holds one while runs are weighed: one comparison at a time
}

// New serves the folder dir. What is no folder is an *InputError.
func New(dir string, catalog *experiments.Catalog) (*Server, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, data.Inputf(dir, "cannot be served: %w; name a folder of runs", errors.Unwrap(err))
	}
	return &Server{root: root, catalog: catalog, weigh: make(chan struct{}, 1)}, nil
}

// Close lets the folder go.
func (s *Server) Close() error { return s.root.Close() }

// Listen is a listener on the loopback interface. An address elsewhere is an *InputError.
func Listen(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, data.Inputf("", "--listen is %q; it must be an address and a port, such as 127.0.0.1:8321", address)
	}
	if !loopback(host) {
		return nil, data.Inputf("", "--listen is %q, which others could reach; runs are served on this machine alone: name 127.0.0.1, ::1 or localhost", address)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, data.Inputf("", "cannot listen on %s: %w; name another port, or 0 for any that is free", address, errors.Unwrap(err))
	}
	if at, ok := l.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() { // whatever localhost is here
		l.Close()
		return nil, data.Inputf("", "--listen is %q, which is %s here and not this machine alone; name 127.0.0.1", address, l.Addr())
	}
	return l, nil
}

// loopback reports whether a host, of an address or a request, is this machine by its own name for itself.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}

const (
	patience   = 10 * time.Second // for a request to be said, and at the end for answers to be given
	mostHeader = 32 << 10
	longest    = 5 * time.Minute // an answer
)

// Serve answers on l until ctx is cancelled.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: s.Handler(), ReadTimeout: patience, WriteTimeout: longest, IdleTimeout: longest, MaxHeaderBytes: mostHeader,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    log.New(io.Discard, "", 0), // of connections that break; a panic of a page is its answer
	}
	ended := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		ended <- server.Shutdown(end)
	})
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return <-ended
}

// Handler answers the requests of this machine.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", page(s.list))
	mux.Handle("GET /beside", page(s.beside))
	mux.Handle("GET /study", page(s.study))
	mux.HandleFunc("GET /files/", s.file)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host // without a port
		}
		if !loopback(host) {
			http.Error(w, "Runs are shown on this machine alone, as localhost or 127.0.0.1.", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// policy of all answers: the scripts of reports and of this package.
var policy = report.Policy(listScript, liveScript)

// page answers with a document, and with a page that gives the reason where there is none.
func page(make func(r *http.Request) (*report.Document, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d, err := answer(make, r)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if err != nil {
			code := http.StatusInternalServerError
			if input := (*data.InputError)(nil); errors.As(err, &input) { // what a request names and the folder has not
				code = http.StatusNotFound
			}
			w.WriteHeader(code)
			d = &report.Document{Title: "Not to be shown", Verdict: []report.Statement{{Lines: []string{data.Line(err.Error())}}},
				Sections: []*report.Section{{Title: "Where to go", Panel: back}}}
		}
		_ = d.WriteHTML(w) // to a browser that may be gone
	})
}

// answer is the page; a panic is its error.
func answer(make func(r *http.Request) (*report.Document, error), r *http.Request) (d *report.Document, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = experiments.Caught(p)
		}
	}()
	return make(r)
}

// kinds are the files that are shown as they are.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png", ".pdf": "application/pdf", ".json": "application/json",
	".csv": "text/plain; charset=utf-8", ".md": "text/plain; charset=utf-8", ".tex": "text/plain; charset=utf-8",
}

// mostFile is the largest file that is shown, in bytes.
const mostFile = 256 << 20

// file shows a file of a run.
func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/files/")
	if below := strings.TrimSuffix(name, "/"); below != name && fs.ValidPath(below) { // as reports link to their cells
		http.Redirect(w, r, "/study?"+query(below), http.StatusFound)
		return
	}
	kind := kinds[path.Ext(name)]
	if kind == "" || !fs.ValidPath(name) {
		http.Error(w, "No such page.", http.StatusNotFound)
		return
	}
	f, err := data.OpenIn(s.root, name)
	if err != nil {
		http.Error(w, "There is no such file in the folder.", http.StatusNotFound)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() > mostFile {
		http.Error(w, "The file is too large to be shown.", http.StatusRequestEntityTooLarge)
		return
	}
	w.Header().Set("Content-Type", kind)
	http.ServeContent(w, r, "", info.ModTime(), f)
}
