package cmd

import (
	"errors"

	"github.com/minio/madmin-go/v3"
)

// As for Google Cloud Storage.
func newWarmBackendAzure(madmin.TierAzure, string) (WarmBackend, error) {
	return nil, errors.New("this build has no client for Azure Blob Storage")
}
