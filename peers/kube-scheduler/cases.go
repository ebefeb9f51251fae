package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// A Case is one line of the recordings: a cluster, a pod, and what the scheduler says.
type Case struct {
	ID           string          `json:"id"`
	Group        string          `json:"group"`
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	// Normalise asks for the cluster's objects to be defaulted, prepared and validated, too; those that are not valid are
	// left out. It is not written.
	Normalise    bool            `json:"normalise,omitempty"`
	Cluster      json.RawMessage `json:"cluster"`
	PodSubmitted json.RawMessage `json:"podSubmitted"`
	Pod          json.RawMessage `json:"pod,omitempty"`
	Expect       json.RawMessage `json:"expect,omitempty"`
}

// Expect is what is recorded about one case.
type Expect struct {
	PreFilterRejected *Failure               `json:"preFilterRejected,omitempty"`
	PreFilterNodes    []string               `json:"preFilterNodes,omitempty"`
	Nodes             map[string]*NodeAnswer `json:"nodes"`
	FeasibleCount     int                    `json:"feasibleCount"`
	SkippedFilters    []string               `json:"skippedFilters"`
	SkippedScores     []string               `json:"skippedScores"`
	Best              []string               `json:"best,omitempty"`
	FitError          string                 `json:"fitError,omitempty"`
	PreFilterError    string                 `json:"preFilterError,omitempty"`
	ScoreError        string                 `json:"scoreError,omitempty"`
	ScheduleError     string                 `json:"scheduleError,omitempty"`
	Preemption        []Preemption           `json:"preemption,omitempty"`
}

// Failure is why a plugin refuses.
type Failure struct {
	Plugin  string   `json:"plugin"`
	Code    string   `json:"code"`
	Reasons []string `json:"reasons"`
}

// NodeAnswer is what is said about one node.
type NodeAnswer struct {
	Feasible    bool             `json:"feasible"`
	Plugin      *string          `json:"plugin,omitempty"`
	Code        string           `json:"code,omitempty"`
	Reasons     []string         `json:"reasons,omitempty"`
	AllFailures []Failure        `json:"allFailures,omitempty"`
	Scores      map[string]int64 `json:"scores,omitempty"`
	Total       *int64           `json:"total,omitempty"`
}

// Preemption is one way in which preemption came out.
type Preemption struct {
	Code                   string   `json:"code"`
	NominatedNode          string   `json:"nominatedNode"`
	Victims                []string `json:"victims"`
	Message                string   `json:"message"`
	FitErrorWithPreemption string   `json:"fitErrorWithPreemption"`
}

// readCases calls take with each line of a file; "-" is standard input.
func readCases(path string, take func(*Case) error) error {
	var reader io.Reader = os.Stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		reader = file
	}
	if strings.HasSuffix(path, ".gz") {
		unzipped, err := gzip.NewReader(reader)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		reader = unzipped
	}
	lines := bufio.NewScanner(reader)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		one := &Case{}
		if err := json.Unmarshal(lines.Bytes(), one); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := take(one); err != nil {
			return err
		}
	}
	return lines.Err()
}

// bare is JSON without nulls, without empty statuses, and without what only Go's encoding adds.
func bare(object any) (json.RawMessage, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var value any
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(withoutNulls(value))
}

func withoutNulls(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			if member == nil {
				delete(value, key)
				continue
			}
			value[key] = withoutNulls(member)
			_, isContainer := value["image"]
			if inner, ok := value[key].(map[string]any); ok && len(inner) == 0 &&
				(key == "status" || key == "resources" && isContainer) {
				delete(value, key)
			}
		}
		return value
	case []any:
		for i := range value {
			value[i] = withoutNulls(value[i])
		}
		return value
	default:
		return value
	}
}
