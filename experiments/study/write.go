package study

import "context"

func (f *Findings) Write(ctx context.Context, dir string) error { return nil }
