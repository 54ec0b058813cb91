// etcd as its project builds it, of the version whose client Kubernetes has: so they compile what they share once.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
