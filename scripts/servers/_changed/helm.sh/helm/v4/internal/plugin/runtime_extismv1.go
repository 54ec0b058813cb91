package plugin

import "errors"

// RuntimeConfigExtismV1 is what a plugin's metadata says of its runtime: this build does not read it.
type RuntimeConfigExtismV1 struct{}

// Validate has nothing to refuse: CreatePlugin refuses all.
func (*RuntimeConfigExtismV1) Validate() error { return nil }

// RuntimeExtismV1 would run plugins that are WebAssembly. Its compiler of WebAssembly takes as long to compile as a third of Helm.
type RuntimeExtismV1 struct{}

// CreatePlugin always fails.
func (*RuntimeExtismV1) CreatePlugin(string, *Metadata) (Plugin, error) {
	return nil, errors.New("this build runs no plugins of WebAssembly")
}
