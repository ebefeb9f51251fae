// Checks of a cluster with client-go: the one of KUBECONFIG. One line for each check; fails if one of them does.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	namespace = "client-go"
	patience  = 60 * time.Second
)

// real says that the cluster is a real control plane: it has etcd 3.4, which knows no progress of watches, and no metrics server.
var real = os.Getenv("CLIENTS_REAL") == "1"

type cluster struct {
	config  *rest.Config
	client  *kubernetes.Clientset
	context context.Context
}

type check struct {
	name string
	run  func(cluster) error
}

var checks = []check{
	{"discovery: every group, preferred versions, OpenAPI v3", discovered},
	{"informers: WatchList and protobuf, from the first event on", informed},
	{"informers: indexed, filtered, handlers of their own", indexed},
	{"metadata informer: what is left of an object", metadataInformed},
	{"watch: begun again at where it ended", watchedAgain},
	{"pager: chunks of two", paged},
	{"leader election: one leads, the next one takes over", elected},
	{"dynamic client and RESTMapper: kinds, and those of a definition", mapped},
	{"server-side apply: extracted, in conflict, forced", applied},
	{"retry on conflict: forty increments by eight writers", retried},
	{"eviction: granted, and refused with the time to wait", evicted},
	{"scale client: of a Deployment, a StatefulSet, a definition", scaled},
	{"metrics client: nodes and pods", measured},
	{"events: recorded, and counted", recorded},
	{"tokens and RBAC: forbidden, bound, allowed", authorized},
	{"deletion: orphaned, in the background, in the foreground", deleted},
}

func main() {
	if err := run(); err != nil {
		fmt.Println("FAILED", err)
		os.Exit(1)
	}
}

func run() error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	config.QPS, config.Burst = -1, 0
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	own := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := client.CoreV1().Namespaces().Create(context.Background(), own, metav1.CreateOptions{}); err != nil {
		return err
	}
	failed := 0
	for _, check := range checks {
		until, cancel := context.WithTimeout(context.Background(), 2*patience)
		err := check.run(cluster{config, client, until})
		cancel()
		if err != nil {
			failed++
			fmt.Printf("FAILED %s: %v\n", check.name, err)
		} else {
			fmt.Println("ok", check.name)
		}
	}
	if err := client.CoreV1().Namespaces().Delete(context.Background(), namespace, metav1.DeleteOptions{}); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d checks", failed)
	}
	return nil
}

// eventually asks until the answer is yes; what it said last is in the error.
func (c cluster) eventually(what string, ask func() (bool, error)) error {
	err := wait.PollUntilContextTimeout(c.context, 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		return ask()
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("after %v: not %s", patience, what)
	}
	return err
}

// is says whether an error is a refusal of this reason, and what it is if not.
func is(err error, reason metav1.StatusReason) error {
	if err == nil {
		return fmt.Errorf("taken, and not refused as %s", reason)
	}
	if apierrors.ReasonForError(err) != reason {
		return fmt.Errorf("refused as %q, and not as %s: %w", apierrors.ReasonForError(err), reason, err)
	}
	return nil
}
