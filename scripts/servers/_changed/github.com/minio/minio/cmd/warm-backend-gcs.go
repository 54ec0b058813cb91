package cmd

import (
	"errors"

	"github.com/minio/madmin-go/v3"
)

// Google's client, with which MinIO can move old objects to Google Cloud Storage, takes as long to compile as a third of MinIO.
func newWarmBackendGCS(madmin.TierGCS, string) (WarmBackend, error) {
	return nil, errors.New("this build has no client for Google Cloud Storage")
}
