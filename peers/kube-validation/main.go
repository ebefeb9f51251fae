// Command kube-validation asks Kubernetes' own API server code what it says of an object that a user submits.
//
// It decodes as the server decodes (strictly, as kubectl asks for, or leniently), sets defaults, runs the registry's
// strategy and wraps what is wrong in the server's status message. No cluster, no admission plugins.
//
//	kube-validation check [-times N]  < cases.jsonl > answers.jsonl
//	kube-validation cases [-seed N] [-count N]
//	kube-validation definitions [-seed N] [-count N] [-old]
//	kube-validation texts [-seed N] [-count N]
//	kube-validation written
//	kube-validation placed
//	kube-validation types > types.txt
//	kube-validation shown > shown.txt
package main

import (
	"fmt"
	"os"
)

func main() {
	verb := ""
	if len(os.Args) > 1 {
		verb = os.Args[1]
	}
	var err error
	switch verb {
	case "check":
		err = check(os.Args[2:], os.Stdin, os.Stdout)
	case "cases":
		err = cases(os.Args[2:], os.Stdout)
	case "definitions":
		err = definitions(os.Args[2:], os.Stdout)
	case "texts":
		err = yamlTexts(os.Args[2:], os.Stdout)
	case "written":
		err = written(os.Stdout)
	case "placed":
		err = placed(os.Stdout)
	case "shown":
		err = shown(os.Stdout)
	case "types":
		err = types(os.Stdout)
	default:
		err = fmt.Errorf("usage: kube-validation check [-times N] | cases [-seed N] [-count N] | definitions [-seed N] [-count N] [-old] | texts [-seed N] [-count N] | written | placed | types | shown")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
