// Left out here: it is for the scheduler's own tests, and has every fake client of Kubernetes compiled.

package queue
