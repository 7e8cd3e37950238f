package cli

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// browser is a headless Chromium with one tab that all tests share. It is told what to do by Chromium's DevTools
// protocol: JSON messages, each ended by a zero byte, on a pair of pipes.
type browser struct {
	process *exec.Cmd
	profile string
	to      *os.File
	from    *bufio.Reader
	session string    // of the tab
	sent    int       // messages
	events  []message // that were not looked at yet
}

// message is what the browser says: an answer, which has the number of its question, or an event.
type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// window is how a page is looked at.
type window struct {
	width, height int
	dark, print   bool
	noScripts     bool
	noScrollbars  bool
	patience      int // in milliseconds of the page's own time, which passes as fast as it can
}

var desktop = window{width: 800, height: 600, patience: 3000}

var opened *browser

var openBrowser = sync.OnceValues(func() (*browser, error) {
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		return nil, errors.New("there is no Chromium; apt-get install chromium")
	}
	profile, err := os.MkdirTemp("", "browser")
	if err != nil {
		return nil, err
	}
	theirs, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	from, answers, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	process := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--user-data-dir="+profile, "--remote-debugging-pipe", "about:blank")
	process.ExtraFiles = []*os.File{theirs, answers} // 3 and 4, which that flag names
	if err := process.Start(); err != nil {
		return nil, fmt.Errorf("%s does not run here: %w", program, err)
	}
	theirs.Close()
	answers.Close()
	opened = &browser{process: process, profile: profile, to: to, from: bufio.NewReader(from)}
	if err := opened.openTab(); err != nil {
		return nil, fmt.Errorf("%s does not run here: %w", program, err)
	}
	return opened, nil
})

// closeBrowser ends the browser, if a test opened it.
func closeBrowser() {
	if b := opened; b != nil {
		b.session = ""
		_ = b.ask("Browser.close", nil, nil)
		b.to.Close()
		_ = b.process.Wait()
		os.RemoveAll(b.profile)
	}
}

func (b *browser) openTab() error {
	var tab struct{ TargetID, SessionID string }
	if err := b.ask("Target.createTarget", map[string]any{"url": "about:blank"}, &tab); err != nil {
		return err
	}
	if err := b.ask("Target.attachToTarget", map[string]any{"targetId": tab.TargetID, "flatten": true}, &tab); err != nil {
		return err
	}
	b.session = tab.SessionID
	for _, what := range []string{"Page", "Runtime", "Log", "Network"} {
		if err := b.ask(what+".enable", nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// ask sends the browser a message, keeps the events that come meanwhile, and reads the answer.
func (b *browser) ask(method string, params map[string]any, answer any) error {
	b.sent++
	question := map[string]any{"id": b.sent, "method": method}
	if params != nil {
		question["params"] = params
	}
	if b.session != "" {
		question["sessionId"] = b.session
	}
	text, err := json.Marshal(question)
	if err != nil {
		return err
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		return err
	}
	for {
		m, err := b.read()
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", method, err)
		case m.ID == 0:
			b.events = append(b.events, m)
		case m.Error != nil:
			return fmt.Errorf("%s: %s", method, m.Error)
		case answer == nil:
			return nil
		default:
			return json.Unmarshal(m.Result, answer)
		}
	}
}

func (b *browser) read() (m message, err error) {
	text, err := b.from.ReadBytes(0)
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(text[:len(text)-1], &m)
}

// wait reads events up to one of a name.
func (b *browser) wait(name string) error {
	for {
		m, err := b.read()
		if err != nil {
			return err
		}
		if b.events = append(b.events, m); m.Method == name {
			return nil
		}
	}
}

// look changes how the page that is open is looked at.
func (b *browser) look(w window) error {
	theme, media := "light", "" // that of the screen, and on paper that of paper
	if w.dark {
		theme = "dark"
	}
	if w.print {
		media = "print"
	}
	for _, what := range []struct {
		method string
		params map[string]any
	}{
		{"Emulation.setDeviceMetricsOverride", map[string]any{"width": w.width, "height": w.height, "deviceScaleFactor": 1, "mobile": false}},
		{"Emulation.setScrollbarsHidden", map[string]any{"hidden": w.noScrollbars}},
		{"Emulation.setScriptExecutionDisabled", map[string]any{"value": w.noScripts}},
		{"Emulation.setEmulatedMedia", map[string]any{"media": media, "features": []map[string]string{{"name": "prefers-color-scheme", "value": theme}}}},
	} {
		if err := b.ask(what.method, what.params, nil); err != nil {
			return err
		}
	}
	return nil
}

// open opens a page and lets its time pass.
func (b *browser) open(address string, w window) error {
	if err := b.ask("Page.navigate", map[string]any{"url": "about:blank"}, nil); err != nil { // nothing of the page before
		return err
	}
	if err := b.look(w); err != nil {
		return err
	}
	b.events = nil
	var reached struct{ ErrorText string }
	if err := b.ask("Page.navigate", map[string]any{"url": address}, &reached); err != nil {
		return err
	}
	if reached.ErrorText != "" {
		return errors.New(reached.ErrorText)
	}
	if err := b.ask("Emulation.setVirtualTimePolicy", map[string]any{"policy": "pauseIfNetworkFetchesPending", "budget": w.patience}, nil); err != nil {
		return err
	}
	return b.wait("Emulation.virtualTimeBudgetExpired")
}

// evaluate is the text that an expression of JavaScript has in the page that is open.
func (b *browser) evaluate(expression string) (string, error) {
	var shown struct {
		Result           struct{ Value string }
		ExceptionDetails json.RawMessage
	}
	if err := b.ask("Runtime.evaluate", map[string]any{"expression": expression}, &shown); err != nil {
		return "", err
	}
	if shown.ExceptionDetails != nil {
		return "", errors.New(string(shown.ExceptionDetails))
	}
	return shown.Result.Value, nil
}

// requests are the addresses that the page which is open asked for, but for its own.
func (b *browser) requests() (addresses []string) {
	for _, m := range b.events {
		var asked struct {
			DocumentURL string
			Request     struct{ URL string }
		}
		if m.Method == "Network.requestWillBeSent" && json.Unmarshal(m.Params, &asked) == nil && asked.Request.URL != asked.DocumentURL && !strings.HasPrefix(asked.Request.URL, "data:") {
			addresses = append(addresses, asked.Request.URL)
		}
	}
	return addresses
}

// console is what the page that is open said on its console, and what the browser said of it.
func (b *browser) console() (lines []string) {
	for _, m := range b.events {
		switch m.Method {
		case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded":
			lines = append(lines, string(m.Params))
		}
	}
	return lines
}

// browse opens a page, a file or an address, and returns what becomes of it and what is said on its console.
func browse(t *testing.T, page string, w window) (dom string, console []string) {
	t.Helper()
	b, err := openBrowser()
	if err != nil {
		t.Skip(err)
	}
	if !strings.HasPrefix(page, "http://") {
		page = "file://" + page
	}
	hung := time.AfterFunc(time.Minute, func() { _ = b.process.Process.Kill() })
	defer hung.Stop()
	err = b.open(page, w)
	if err == nil {
		dom, err = b.evaluate("document.documentElement.outerHTML")
	}
	if err != nil {
		t.Fatal(err)
	}
	return dom, b.console()
}

// printed is the page that is open as a PDF.
func printed(t *testing.T) (pdf []byte) {
	t.Helper()
	b, err := openBrowser()
	if err != nil {
		t.Skip(err)
	}
	var answer struct{ Data string }
	if err := b.ask("Page.printToPDF", map[string]any{"preferCSSPageSize": true}, &answer); err != nil {
		t.Fatal(err)
	}
	if pdf, err = base64.StdEncoding.DecodeString(answer.Data); err != nil {
		t.Fatal(err)
	}
	return pdf
}
