// Package ext is what other editions of Traefik add to its configuration: nothing. Traefik's published module lacks this folder.
package ext

// HTTP adds to the configuration of HTTP.
type HTTP struct{}

// Router adds to that of a router.
type Router struct{}
