// Prints what kstatus, and so `helm --wait`, Flux and kpt, makes of a resource that comes on standard input as JSON.
package main

import (
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

func main() {
	resource := &unstructured.Unstructured{}
	text, err := io.ReadAll(os.Stdin)
	if err == nil {
		// As the library reads it: whole numbers stay whole.
		err = resource.UnmarshalJSON(text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	result, err := status.Compute(resource)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(result.Status)
}
