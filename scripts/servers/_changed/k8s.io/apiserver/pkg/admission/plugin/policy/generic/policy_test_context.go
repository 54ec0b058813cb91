// Left out here: it is for the API server's own tests, and has every fake client of Kubernetes compiled.

package generic
