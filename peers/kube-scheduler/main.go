// Command peer asks the real kube-scheduler.
package main

import (
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

func main() {
	// What upstream logs about odd objects is no news here.
	klog.SetLogger(logr.Discard())
	if len(os.Args) < 2 {
		fail(fmt.Errorf("usage: peer record|bench [flags]"))
	}
	var err error
	switch os.Args[1] {
	case "bench":
		err = bench(os.Args[2:])
	case "record":
		err = record(os.Args[2:])
	default:
		err = fmt.Errorf("%s is not a command; there are record and bench", os.Args[1])
	}
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(1)
}
