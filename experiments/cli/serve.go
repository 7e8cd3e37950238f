package cli

import (
	"context"

	"calibra/experiments"
	"calibra/experiments/serve"
)

type serveCmd struct {
	Runs   string `type:"path" default:"runs" placeholder:"DIR" help:"Folder of runs, at any depth: what fit, compare, evaluate, diagnose, study and theory left there (${default})."`
	Listen string `default:"127.0.0.1:8321" placeholder:"ADDRESS" help:"Loopback address and port to answer at; port 0 is any that is free (${default})."`
}

func (c *serveCmd) Run(ctx context.Context, t *terminal, methods *experiments.Catalog) error {
	s, err := serve.New(c.Runs, methods)
	if err != nil {
		return err
	}
	defer s.Close()
	l, err := serve.Listen(c.Listen)
	if err != nil {
		return err
	}
	if err := t.printf("%s is shown at http://%s/ until Ctrl-C ends it\n", c.Runs, l.Addr()); err != nil {
		l.Close()
		return err
	}
	return s.Serve(ctx, l)
}
