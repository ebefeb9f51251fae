package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// A stage is a scheduler that knows one cluster.
type stage struct {
	client    *fake.Clientset
	scheduler *scheduler.Scheduler
	profile   framework.Framework
	snapshot  *internalcache.Snapshot
}

// newStage builds a scheduler as the default configuration does, lets its informers take in all objects, and takes the
// snapshot that a cycle begins with.
func newStage(ctx context.Context, objects []Object, settle time.Duration, options ...scheduler.Option) (*stage, error) {
	known := make([]runtime.Object, 0, len(objects))
	for _, object := range objects {
		// The scheduler's informer has a field selector, which the in-memory client does not know.
		if pod, ok := object.(*corev1.Pod); ok && (pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed) {
			continue
		}
		known = append(known, object)
	}
	client := fake.NewSimpleClientset(known...)
	informers := scheduler.NewInformerFactory(client, 0)
	recorder := func(string) events.EventRecorderLogger { return &events.FakeRecorder{} }
	built, err := scheduler.New(ctx, client, informers, nil, recorder, options...)
	if err != nil {
		return nil, err
	}
	informers.Start(ctx.Done())
	informers.WaitForCacheSync(ctx.Done())
	if err := built.WaitForHandlersSync(ctx); err != nil {
		return nil, err
	}
	// Handlers that plugins register by themselves have nothing to wait for.
	time.Sleep(settle)
	profile := built.Profiles[corev1.DefaultSchedulerName]
	snapshot, ok := profile.SnapshotSharedLister().(*internalcache.Snapshot)
	if !ok {
		return nil, errors.New("the snapshot is of another type")
	}
	if err := built.Cache.UpdateSnapshot(klog.FromContext(ctx), snapshot); err != nil {
		return nil, err
	}
	return &stage{client, built, profile, snapshot}, nil
}

// explain asks every plugin about every node.
func (s *stage) explain(ctx context.Context, pod *corev1.Pod, preemptions int) (*Expect, error) {
	nodes, err := s.snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	expect := &Expect{Nodes: map[string]*NodeAnswer{}, SkippedFilters: []string{}, SkippedScores: []string{}}
	state := framework.NewCycleState()
	narrowed, status, by := s.profile.RunPreFilterPlugins(ctx, state, pod)
	switch {
	case status.IsRejected():
		failure := failureOf(status)
		expect.PreFilterRejected = &failure
		for _, node := range nodes {
			answer := refusal(failure)
			expect.Nodes[node.Node().Name] = answer
		}
	case !status.IsSuccess():
		expect.PreFilterError = status.AsError().Error()
	default:
		if err := s.filterAndScore(ctx, state, pod, nodes, narrowed, sets.List(by), expect); err != nil {
			return nil, err
		}
	}
	expect.SkippedFilters = append(expect.SkippedFilters, sets.List(state.GetSkipFilterPlugins())...)
	if err := s.schedule(ctx, pod, expect, preemptions); err != nil {
		return nil, err
	}
	return expect, nil
}

func (s *stage) filterAndScore(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo,
	narrowed *fwk.PreFilterResult, by []string, expect *Expect,
) error {
	if !narrowed.AllNodes() {
		expect.PreFilterNodes = sets.List(narrowed.NodeNames)
	}
	var feasible []fwk.NodeInfo
	for _, node := range nodes {
		name := node.Node().Name
		if !narrowed.AllNodes() && !narrowed.NodeNames.Has(name) {
			expect.Nodes[name] = refusal(Failure{
				Plugin: strings.Join(by, ","), Code: fwk.UnschedulableAndUnresolvable.String(),
				Reasons: []string{fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", by)},
			})
			continue
		}
		status := s.profile.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
		if status.IsSuccess() {
			feasible = append(feasible, node)
			expect.Nodes[name] = &NodeAnswer{Feasible: true}
			continue
		}
		answer := refusal(failureOf(status))
		answer.AllFailures = s.eachFilter(ctx, state, pod, node)
		expect.Nodes[name] = answer
	}
	expect.FeasibleCount = len(feasible)
	if len(feasible) == 0 {
		return nil
	}
	if status := s.profile.RunPreScorePlugins(ctx, state, pod, feasible); !status.IsSuccess() {
		expect.ScoreError = status.AsError().Error()
		return nil
	}
	expect.SkippedScores = append(expect.SkippedScores, sets.List(state.GetSkipScorePlugins())...)
	scores, status := s.profile.RunScorePlugins(ctx, state, pod, feasible)
	if !status.IsSuccess() {
		expect.ScoreError = status.AsError().Error()
		return nil
	}
	best := int64(-1)
	for _, node := range scores {
		answer := expect.Nodes[node.Name]
		answer.Scores = map[string]int64{}
		for _, score := range node.Scores {
			answer.Scores[score.Name] = score.Score
		}
		answer.Total = &node.TotalScore
		if node.TotalScore > best {
			best, expect.Best = node.TotalScore, nil
		}
		if node.TotalScore == best {
			expect.Best = append(expect.Best, node.Name)
		}
	}
	slices.Sort(expect.Best)
	return nil
}

// eachFilter asks every filter by itself, by letting the framework skip all others.
func (s *stage) eachFilter(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo) []Failure {
	var all []Failure
	skipped := state.GetSkipFilterPlugins()
	enabled := s.profile.ListPlugins().Filter.Enabled
	for _, alone := range enabled {
		if skipped.Has(alone.Name) {
			continue
		}
		others := sets.New[string]()
		for _, other := range enabled {
			if other.Name != alone.Name {
				others.Insert(other.Name)
			}
		}
		state.SetSkipFilterPlugins(others)
		if status := s.profile.RunFilterPlugins(ctx, state, pod, node); !status.IsSuccess() {
			all = append(all, failureOf(status))
		}
	}
	state.SetSkipFilterPlugins(skipped)
	return all
}

// schedule holds the scheduler's own entry point against what the plugins said, and lets it preempt.
func (s *stage) schedule(ctx context.Context, pod *corev1.Pod, expect *Expect, preemptions int) error {
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return err
	}
	queued := &framework.QueuedPodInfo{PodInfo: info}
	state := framework.NewCycleState()
	result, err := s.scheduler.SchedulePod(ctx, s.profile, state, queued)
	var unfit *framework.FitError
	switch {
	case err == nil && expect.FeasibleCount == 1:
		if !expect.Nodes[result.SuggestedHost].Feasible {
			return fmt.Errorf("%s was chosen, which does not fit", result.SuggestedHost)
		}
	case err == nil:
		if !slices.Contains(expect.Best, result.SuggestedHost) {
			return fmt.Errorf("%s was chosen, which is not among the best %v", result.SuggestedHost, expect.Best)
		}
	case errors.As(err, &unfit):
		expect.FitError = err.Error()
		for range preemptions {
			if err := s.preempt(ctx, pod, queued, expect); err != nil {
				return err
			}
		}
	default:
		expect.ScheduleError = err.Error()
	}
	return nil
}

// preempt runs one cycle up to its nomination. Nothing reaches the store, so that it can be repeated.
func (s *stage) preempt(ctx context.Context, pod *corev1.Pod, queued *framework.QueuedPodInfo, expect *Expect) error {
	victims := []string{}
	s.client.Lock()
	s.client.ReactionChain = append([]clienttesting.Reactor{&clienttesting.SimpleReactor{
		Verb: "*", Resource: "pods", Reaction: func(action clienttesting.Action) (bool, runtime.Object, error) {
			if deletion, ok := action.(clienttesting.DeleteAction); ok && action.GetVerb() == "delete" {
				victims = append(victims, deletion.GetNamespace()+"/"+deletion.GetName())
			}
			return true, pod, nil
		}}}, s.client.ReactionChain...)
	s.client.Unlock()
	defer func() {
		s.client.Lock()
		s.client.ReactionChain = s.client.ReactionChain[1:]
		s.client.Unlock()
	}()
	state := framework.NewCycleState()
	_, err := s.scheduler.SchedulePod(ctx, s.profile, state, queued)
	var unfit *framework.FitError
	if !errors.As(err, &unfit) {
		return fmt.Errorf("does not fit at first, then %v", err)
	}
	result, status := s.profile.RunPostFilterPlugins(ctx, state, pod, unfit.Diagnosis.NodeToStatus)
	unfit.Diagnosis.PostFilterMsg = status.Message()
	slices.Sort(victims)
	outcome := Preemption{
		Code: status.Code().String(), Victims: victims, Message: status.Message(),
		FitErrorWithPreemption: unfit.Error(),
	}
	if result != nil && result.NominatingInfo != nil {
		outcome.NominatedNode = result.NominatedNodeName
	}
	if !slices.ContainsFunc(expect.Preemption, func(seen Preemption) bool {
		return fmt.Sprint(seen) == fmt.Sprint(outcome)
	}) {
		expect.Preemption = append(expect.Preemption, outcome)
	}
	return nil
}

func failureOf(status *fwk.Status) Failure {
	reasons := slices.Clone(status.Reasons())
	if status.Plugin() == "NodeResourcesFit" {
		sortScalars(reasons)
	}
	return Failure{Plugin: status.Plugin(), Code: status.Code().String(), Reasons: reasons}
}

// sortScalars puts the reasons about huge pages and extended resources, which come last and in the order of a Go map, into
// that of the alphabet.
func sortScalars(reasons []string) {
	first := slices.IndexFunc(reasons, func(reason string) bool {
		return !slices.Contains([]string{
			"Too many pods", "Insufficient cpu", "Insufficient memory", "Insufficient ephemeral-storage",
		}, reason)
	})
	if first >= 0 {
		slices.Sort(reasons[first:])
	}
}

func refusal(failure Failure) *NodeAnswer {
	return &NodeAnswer{Plugin: &failure.Plugin, Code: failure.Code, Reasons: failure.Reasons}
}
