// Package ecs replaces Traefik's provider for Amazon ECS, whose clients of EC2, ECS and SSM are a fifth of all that is compiled for Traefik.
package ecs

import (
	"errors"

	"github.com/traefik/traefik/v3/pkg/config/dynamic"
	"github.com/traefik/traefik/v3/pkg/safe"
)

// ProviderName is what static configuration calls it.
const ProviderName = "ecs"

// Provider refuses to start.
type Provider struct{}

var errLeftOut = errors.New("this build has no provider for Amazon ECS")

// Init fails.
func (p *Provider) Init() error { return errLeftOut }

// Provide fails.
func (p *Provider) Provide(chan<- dynamic.Message, *safe.Pool) error { return errLeftOut }
