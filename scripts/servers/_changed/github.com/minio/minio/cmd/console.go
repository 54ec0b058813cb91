package cmd

import consoleapi "github.com/minio/console/api"

// In the place of the function in common-main.go.
func initConsoleServer() (*consoleapi.Server, error) { return consoleapi.NewServer(), nil }
