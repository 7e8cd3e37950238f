// Package show puts figures and tables below a cell of a notebook.
package show

import (
	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// Figure draws f, such as a figure of package report, as SVG.
func Figure(f interface {
	Render(format string) ([]byte, error)
}) error {
	svg, err := f.Render("svg")
	if err != nil {
		return err
	}
	SVG(svg)
	return nil
}

// SVG draws a picture, such as a plot of gonum's. gonbui.DisplaySvg would wrap it in
// HTML, which GitHub drops.
func SVG(picture []byte) {
	gonbui.SendData(&protocol.DisplayData{Data: map[protocol.MIMEType]any{protocol.MIMEImageSVG: string(picture)}})
	gonbui.Sync() // a program that ends first takes its last output with it
}

// Markdown shows text, such as a document of package report.
func Markdown(text string) {
	gonbui.DisplayMarkdown(text)
	gonbui.Sync()
}
