package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
)

// compared says where a case that holds answers differs from those just given. Of preemption, whose ties are broken at
// random, every recorded outcome must be among ours.
func (r *recorder) compared(held, full *Case) {
	different := false
	say := func(path string, theirs, ours any) {
		different = true
		fmt.Fprintf(os.Stdout, "%s %s: held %s, given %s\n", held.ID, path, text(theirs), text(ours))
	}
	diff("pod", decode(held.Pod), decode(full.Pod), say)
	theirs, ours := decode(held.Expect).(map[string]any), decode(full.Expect).(map[string]any)
	for _, outcome := range list(theirs["preemption"]) {
		found := false
		for _, given := range list(ours["preemption"]) {
			found = found || reflect.DeepEqual(outcome, given)
		}
		if !found {
			say("preemption", outcome, ours["preemption"])
		}
	}
	delete(theirs, "preemption")
	delete(ours, "preemption")
	diff("expect", theirs, ours, say)
	if different {
		r.differ++
	}
}

func diff(path string, theirs, ours any, say func(string, any, any)) {
	left, leftMap := theirs.(map[string]any)
	right, rightMap := ours.(map[string]any)
	if !leftMap || !rightMap {
		if !reflect.DeepEqual(theirs, ours) {
			say(path, theirs, ours)
		}
		return
	}
	for key := range left {
		diff(path+"."+key, left[key], right[key], say)
	}
	for key := range right {
		if _, there := left[key]; !there {
			say(path+"."+key, nil, right[key])
		}
	}
}

func decode(text json.RawMessage) any {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return map[string]any{}
	}
	return value
}

func list(value any) []any {
	all, _ := value.([]any)
	return all
}

func text(value any) string {
	all, _ := json.Marshal(value)
	return string(all)
}
