// Package api stands in for MinIO's console, a page for browsers: with its own client of S3 and all that page asks for, it takes as long to compile as
// a quarter of MinIO.
package api

// Server serves nothing.
type Server struct{ ended chan struct{} }

// NewServer needs no settings.
func NewServer() *Server { return &Server{ended: make(chan struct{})} }

// Serve waits for Shutdown.
func (s *Server) Serve() error {
	<-s.ended
	return nil
}

// Shutdown ends Serve.
func (s *Server) Shutdown() error {
	close(s.ended)
	return nil
}
