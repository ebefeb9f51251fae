package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
	watchtools "k8s.io/client-go/tools/watch"
)

// tape writes down which lists and watches of ConfigMaps were answered, and as what.
type tape struct {
	next http.RoundTripper
	lock sync.Mutex
	// lists, watches that are lists as well, and content types.
	lists, watchLists int
	types             map[string]bool
}

func (t *tape) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	if err == nil && strings.HasSuffix(request.URL.Path, "/configmaps") && request.Method == http.MethodGet {
		t.lock.Lock()
		defer t.lock.Unlock()
		query := request.URL.Query()
		switch {
		case query.Get("sendInitialEvents") == "true":
			t.watchLists++
		case query.Get("watch") == "":
			t.lists++
		}
		t.types[response.Header.Get("Content-Type")] = true
	}
	return response, err
}

// told is what handlers were told.
type told struct {
	lock                    sync.Mutex
	added, changed, deleted int
}

func (t *told) handler() cache.ResourceEventHandler {
	count := func(counter *int) {
		t.lock.Lock()
		defer t.lock.Unlock()
		*counter++
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { count(&t.added) },
		UpdateFunc: func(any, any) { count(&t.changed) },
		DeleteFunc: func(any) { count(&t.deleted) },
	}
}

func (t *told) is(added, changed, deleted int) func() (bool, error) {
	return func() (bool, error) {
		t.lock.Lock()
		defer t.lock.Unlock()
		if t.added > added || t.changed > changed || t.deleted > deleted {
			return false, fmt.Errorf("told of %d added, %d changed, %d deleted", t.added, t.changed, t.deleted)
		}
		return t.added == added && t.changed == changed && t.deleted == deleted, nil
	}
}

func (c cluster) make(names []string, labels map[string]string) error {
	for _, name := range names {
		if _, err := c.client.CoreV1().ConfigMaps(namespace).Create(c.context, configMap(name, labels), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func (c cluster) clear(selector string) error {
	return c.client.CoreV1().ConfigMaps(namespace).DeleteCollection(c.context, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: selector})
}

func informed(c cluster) error {
	recorder := &tape{types: map[string]bool{}}
	config := rest.CopyConfig(c.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		recorder.next = next
		return recorder
	})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := c.make([]string{"i1", "i2", "i3"}, map[string]string{"in": "informer"}); err != nil {
		return err
	}
	only := informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = "in=informer" })
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace), only)
	informer := factory.Core().V1().ConfigMaps().Informer()
	told := &told{}
	if _, err := informer.AddEventHandler(told.handler()); err != nil {
		return err
	}
	stop := make(chan struct{})
	defer factory.Shutdown()
	defer close(stop)
	factory.Start(stop)
	if !cache.WaitForCacheSync(c.context.Done(), informer.HasSynced) {
		return fmt.Errorf("not synced")
	}
	if err := c.eventually("told of what was there", told.is(3, 0, 0)); err != nil {
		return err
	}
	maps := c.client.CoreV1().ConfigMaps(namespace)
	changed := configMap("i1", map[string]string{"in": "informer"})
	changed.Data["key"] = "value"
	if _, err := maps.Update(c.context, changed, metav1.UpdateOptions{}); err != nil {
		return err
	}
	// What no longer has the label is gone for whoever selects by it.
	changed = configMap("i2", nil)
	if _, err := maps.Update(c.context, changed, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if err := maps.Delete(c.context, "i3", metav1.DeleteOptions{}); err != nil {
		return err
	}
	if err := c.eventually("told of every change", told.is(3, 1, 2)); err != nil {
		return err
	}
	recorder.lock.Lock()
	defer recorder.lock.Unlock()
	if recorder.watchLists == 0 {
		return fmt.Errorf("no watch asked for what is there")
	}
	if !real && recorder.lists > 0 {
		return fmt.Errorf("%d lists were needed", recorder.lists)
	}
	for kind := range recorder.types {
		if !strings.HasPrefix(kind, "application/vnd.kubernetes.protobuf") {
			return fmt.Errorf("answered as %s", kind)
		}
	}
	return maps.Delete(c.context, "i2", metav1.DeleteOptions{})
}

func indexed(c cluster) error {
	if err := c.run("indexed", 3); err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(c.client, 0, informers.WithNamespace(namespace))
	pods := factory.Core().V1().Pods()
	err := pods.Informer().AddIndexers(cache.Indexers{"node": func(object any) ([]string, error) {
		return []string{object.(*corev1.Pod).Spec.NodeName}, nil
	}})
	if err != nil {
		return err
	}
	stop := make(chan struct{})
	defer factory.Shutdown()
	defer close(stop)
	factory.Start(stop)
	factory.WaitForCacheSync(c.context.Done())
	selected, err := pods.Lister().Pods(namespace).List(labels.SelectorFromSet(labels.Set{"app": "indexed"}))
	if err != nil || len(selected) != 3 {
		return fmt.Errorf("the lister has %d pods: %v", len(selected), err)
	}
	found := 0
	for _, node := range pods.Informer().GetIndexer().ListIndexFuncValues("node") {
		on, err := pods.Informer().GetIndexer().ByIndex("node", node)
		if err != nil || node == "" {
			return fmt.Errorf("on node %q: %v", node, err)
		}
		found += len(on)
	}
	if found != 3 {
		return fmt.Errorf("nodes have %d pods", found)
	}
	return c.stop("indexed")
}

func metadataInformed(c cluster) error {
	client, err := metadata.NewForConfig(c.config)
	if err != nil {
		return err
	}
	if err := c.make([]string{"m1", "m2"}, map[string]string{"in": "metadata"}); err != nil {
		return err
	}
	resource := corev1.SchemeGroupVersion.WithResource("configmaps")
	factory := metadatainformer.NewFilteredSharedInformerFactory(client, 0, namespace, func(options *metav1.ListOptions) {
		options.LabelSelector = "in=metadata"
	})
	informer := factory.ForResource(resource).Informer()
	told := &told{}
	if _, err := informer.AddEventHandler(told.handler()); err != nil {
		return err
	}
	stop := make(chan struct{})
	defer factory.Shutdown()
	defer close(stop)
	factory.Start(stop)
	if err := c.eventually("told of two", told.is(2, 0, 0)); err != nil {
		return err
	}
	one, exists, err := informer.GetIndexer().GetByKey(namespace + "/m1")
	if err != nil || !exists {
		return fmt.Errorf("m1 is not held: %v", err)
	}
	if partial := one.(*metav1.PartialObjectMetadata); partial.Labels["in"] != "metadata" || partial.UID == "" {
		return fmt.Errorf("it holds %v", partial)
	}
	if err := c.clear("in=metadata"); err != nil {
		return err
	}
	return c.eventually("told that both are gone", told.is(2, 0, 2))
}

func watchedAgain(c cluster) error {
	maps := c.client.CoreV1().ConfigMaps(namespace)
	list, err := maps.List(c.context, metav1.ListOptions{})
	if err != nil {
		return err
	}
	second, opened := int64(1), 0
	source := &cache.ListWatch{
		ListFunc: func(options metav1.ListOptions) (runtime.Object, error) { return maps.List(c.context, options) },
		WatchFunc: func(options metav1.ListOptions) (watch.Interface, error) {
			opened++
			options.LabelSelector, options.TimeoutSeconds = "in=watch", &second
			return maps.Watch(c.context, options)
		},
	}
	watcher, err := watchtools.NewRetryWatcherWithContext(c.context, list.ResourceVersion, source)
	if err != nil {
		return err
	}
	defer watcher.Stop()
	if err := c.eventually("the second watch", func() (bool, error) { return opened > 1, nil }); err != nil {
		return err
	}
	if err := c.make([]string{"w1", "w2"}, map[string]string{"in": "watch"}); err != nil {
		return err
	}
	for _, name := range []string{"w1", "w2"} {
		select {
		case event := <-watcher.ResultChan():
			if got := event.Object.(*corev1.ConfigMap); event.Type != watch.Added || got.Name != name {
				return fmt.Errorf("%s of %s, and not of %s", event.Type, got.Name, name)
			}
		case <-c.context.Done():
			return fmt.Errorf("nothing comes of %s", name)
		}
	}
	return c.clear("in=watch")
}

func paged(c cluster) error {
	names := []string{"p1", "p2", "p3", "p4", "p5"}
	if err := c.make(names, map[string]string{"in": "pages"}); err != nil {
		return err
	}
	requests := 0
	pages := pager.New(
		pager.SimplePageFunc(func(options metav1.ListOptions) (runtime.Object, error) {
			requests++
			return c.client.CoreV1().ConfigMaps(namespace).List(c.context, options)
		}))
	pages.PageSize = 2
	found := 0
	options := metav1.ListOptions{LabelSelector: "in=pages"}
	err := pages.EachListItem(c.context, options, func(object runtime.Object) error {
		if got := object.(*corev1.ConfigMap).Name; found >= len(names) || got != names[found] {
			return fmt.Errorf("%s comes at place %d", got, found)
		}
		found++
		return nil
	})
	if err != nil || found != len(names) || requests != 3 {
		return fmt.Errorf("%d of %d in %d requests: %v", found, len(names), requests, err)
	}
	return c.clear("in=pages")
}
