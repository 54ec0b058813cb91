// etcd as its project builds it, from a module of its own so that its versions mix with nobody's.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
