package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
)

type recorder struct {
	runs        int
	preemptions int
	out         io.Writer
	compare     bool

	mutex   sync.Mutex
	refused map[string]int
	written map[string]int
	thrown  map[string]int
	differ  int
}

// record reads cases and writes them whole.
func record(args []string) error {
	flags := flag.NewFlagSet("record", flag.ExitOnError)
	workers := flags.Int("workers", 32, "cases under way at a time")
	runs := flags.Int("runs", 1, "times each case is run; all must agree")
	preemptions := flags.Int("preemptions", 6, "times preemption is tried, group preemption only")
	compare := flags.Bool("compare", false, "compare with what the cases hold instead of writing")
	flags.Parse(args)
	r := &recorder{
		runs: *runs, preemptions: *preemptions, out: os.Stdout, compare: *compare,
		refused: map[string]int{}, written: map[string]int{}, thrown: map[string]int{},
	}
	// Feature gates belong to the process: cases that differ in them cannot run at the same time.
	byGates := map[string][]*Case{}
	for _, path := range flags.Args() {
		err := readCases(path, func(one *Case) error {
			gates, err := json.Marshal(one.FeatureGates)
			byGates[string(gates)] = append(byGates[string(gates)], one)
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, cases := range byGates {
		if err := r.batch(cases, *workers); err != nil {
			return err
		}
	}
	return r.summary()
}

func (r *recorder) batch(cases []*Case, workers int) error {
	for name, on := range cases[0].FeatureGates {
		before := utilfeature.DefaultFeatureGate.Enabled(featuregate.Feature(name))
		if err := utilfeature.DefaultMutableFeatureGate.Set(fmt.Sprintf("%s=%v", name, on)); err != nil {
			return err
		}
		defer utilfeature.DefaultMutableFeatureGate.Set(fmt.Sprintf("%s=%v", name, before))
	}
	todo := make(chan *Case)
	var all sync.WaitGroup
	for range workers {
		all.Add(1)
		go func() {
			defer all.Done()
			for one := range todo {
				r.one(one)
			}
		}()
	}
	for _, one := range cases {
		todo <- one
	}
	close(todo)
	all.Wait()
	return nil
}

func (r *recorder) one(one *Case) {
	full, refused, err := r.run(one)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for what := range refused {
		r.refused[shorten(what)] += refused[what]
	}
	if err != nil {
		r.thrown[one.Group+": "+shorten(err.Error())]++
		return
	}
	r.written[one.Group]++
	if r.compare {
		r.compared(one, full)
		return
	}
	text, err := json.Marshal(full)
	if err != nil {
		r.thrown[one.Group+": "+err.Error()]++
		return
	}
	r.out.Write(append(text, '\n'))
}

// shorten leaves out what is in quotes, lest every case be its own reason.
func shorten(what string) string {
	parts := strings.SplitN(what, "\"", 3)
	if len(parts) == 3 {
		what = parts[0] + "…" + parts[2]
	}
	if len(what) > 150 {
		what = what[:150]
	}
	return what
}

func (r *recorder) run(one *Case) (*Case, map[string]int, error) {
	full := *one
	submitted := &corev1.Pod{}
	if err := json.Unmarshal(one.PodSubmitted, submitted); err != nil {
		return nil, nil, fmt.Errorf("pod: %w", err)
	}
	var err error
	if full.PodSubmitted, err = bare(submitted); err != nil {
		return nil, nil, err
	}
	// What is written is what is asked about, quantities rewritten and all.
	submitted = &corev1.Pod{}
	if err := json.Unmarshal(full.PodSubmitted, submitted); err != nil {
		return nil, nil, err
	}
	pod, stored, err := admit(submitted)
	if err != nil {
		return nil, nil, fmt.Errorf("pod: %w", err)
	}
	full.Pod = stored
	cluster, err := decodeCluster(one.Cluster, one.Normalise)
	if err != nil {
		return nil, nil, fmt.Errorf("cluster: %w", err)
	}
	if one.Normalise {
		full.Normalise = false
		if full.Cluster, err = json.Marshal(cluster.Lists); err != nil {
			return nil, nil, err
		}
	}
	objects := cluster.Objects
	// A pod that names its node would be taken for one that runs there.
	isIncoming := func(other Object) bool {
		_, isPod := other.(*corev1.Pod)
		return isPod && other.GetNamespace() == pod.Namespace && other.GetName() == pod.Name
	}
	if slices.ContainsFunc(objects, isIncoming) {
		return nil, cluster.Refused, fmt.Errorf("the pod is in the cluster already")
	}
	if pod.Spec.NodeName == "" {
		objects = append(objects, pod)
	}
	preemptions := 0
	// A pod that names its node never comes so far.
	if one.Group == "preemption" && pod.Spec.NodeName == "" {
		preemptions = r.preemptions
	}
	var first string
	for i := range r.runs {
		ctx, cancel := context.WithCancel(context.Background())
		stage, err := newStage(ctx, objects, settleFor(cluster))
		if err != nil {
			cancel()
			return nil, cluster.Refused, err
		}
		expect, err := stage.explain(ctx, pod, preemptions)
		cancel()
		if err != nil {
			return nil, cluster.Refused, err
		}
		if full.Expect, err = json.Marshal(expect); err != nil {
			return nil, cluster.Refused, err
		}
		if i == 0 {
			first = string(full.Expect)
		} else if first != string(full.Expect) {
			return nil, cluster.Refused, fmt.Errorf("answers differently each time")
		}
	}
	return &full, cluster.Refused, nil
}

// settleFor is the time that handlers of volume plugins are given.
func settleFor(cluster *Cluster) time.Duration {
	if len(cluster.Lists["persistentVolumeClaims"])+len(cluster.Lists["persistentVolumes"]) > 0 {
		return 100 * time.Millisecond
	}
	return 0
}

func (r *recorder) summary() error {
	print := func(title string, counts map[string]int) {
		keys := make([]string, 0, len(counts))
		for key := range counts {
			keys = append(keys, key)
		}
		sort.Slice(keys, func(a, b int) bool { return counts[keys[a]] > counts[keys[b]] })
		for _, key := range keys {
			fmt.Fprintf(os.Stderr, "%s %7d  %s\n", title, counts[key], key)
		}
	}
	print("written", r.written)
	print("thrown ", r.thrown)
	print("refused", r.refused)
	if r.compare {
		fmt.Fprintf(os.Stderr, "differ  %7d\n", r.differ)
		if r.differ > 0 {
			return fmt.Errorf("%d cases differ from what they hold", r.differ)
		}
	}
	return nil
}
