package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// bench places the pods of the workload one after the other, as the scheduling loop does, and prints how long it took.
// Nodes are put into the scheduler's cache and pods into its queue beforehand. Not included: Reserve, Permit, binding, API
// calls, events.
func bench(args []string) error {
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	nodes := flags.Int("nodes", 1000, "nodes")
	pods := flags.Int("pods", 0, "pods; 0 means 10 per node, from 5,000 nodes on 4")
	mix := flags.String("mix", "simple", "simple or mixed")
	percentage := flags.Int("percentage", 0, "percentage of nodes to score; 0 means upstream's adaptive default")
	limit := flags.Duration("limit", 75*time.Second, "when to stop, done or not")
	flags.Parse(args)
	if *mix != "simple" && *mix != "mixed" {
		return fmt.Errorf("%s is not a mix; there are simple and mixed", *mix)
	}
	if *pods == 0 {
		if *pods = 10 * *nodes; *nodes >= 5000 {
			*pods = 4 * *nodes
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	logger := klog.FromContext(ctx)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	wanted := int32(*percentage)
	stage, err := newStage(ctx, []Object{namespace}, 0, scheduler.WithPercentageOfNodesToScore(&wanted))
	if err != nil {
		return err
	}
	for i := range *nodes {
		stage.scheduler.Cache.AddNode(logger, loadNode(i, *mix == "mixed"))
	}
	for i := range *pods {
		stage.scheduler.SchedulingQueue.Add(ctx, loadPod(i, *mix == "mixed"))
	}
	runtime.GC()
	took := make([]time.Duration, 0, *pods)
	evaluated := 0
	cpu, start := cpuTime(), time.Now()
	last := start
	for len(took) < *pods && last.Sub(start) < *limit {
		count, err := stage.place(ctx)
		if err != nil {
			return err
		}
		evaluated += count
		now := time.Now()
		took = append(took, now.Sub(last))
		last = now
	}
	wall, used := last.Sub(start).Seconds(), (cpuTime() - cpu).Seconds()
	slices.Sort(took)
	millis := func(part float64) float64 {
		return took[int(part*float64(len(took)-1))].Seconds() * 1000
	}
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Printf("%d nodes, %s, percentage %d, GOMAXPROCS %d: %d of %d pods, %.0f pods/s, %.0f pods/CPU-s, p50 %.2f ms, p99 %.2f ms, "+
		"%d nodes evaluated per pod, load %s\n",
		*nodes, *mix, *percentage, runtime.GOMAXPROCS(0), len(took), *pods, float64(len(took))/wall, float64(len(took))/used,
		millis(0.5), millis(0.99), evaluated/len(took), strings.SplitN(string(load), " ", 2)[0])
	return nil
}

// place is one cycle, from the queue to the cache.
func (s *stage) place(ctx context.Context) (int, error) {
	logger := klog.FromContext(ctx)
	next, err := s.scheduler.NextPod(logger)
	if err != nil {
		return 0, err
	}
	if err := s.scheduler.Cache.UpdateSnapshot(logger, s.snapshot); err != nil {
		return 0, err
	}
	result, err := s.scheduler.SchedulePod(ctx, s.profile, framework.NewCycleState(), next)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", next.Pod.Name, err)
	}
	assumed := next.DeepCopy()
	assumed.Pod.Spec.NodeName = result.SuggestedHost
	if err := s.scheduler.Cache.AssumePod(logger, assumed.Pod); err != nil {
		return 0, err
	}
	s.scheduler.SchedulingQueue.DeleteNominatedPodIfExists(assumed.Pod)
	s.scheduler.SchedulingQueue.Done(next.Pod.UID)
	return result.EvaluatedNodes, nil
}

func cpuTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
