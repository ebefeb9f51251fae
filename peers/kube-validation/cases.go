package main

import (
	"embed"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"sort"
	"strings"

	"sigs.k8s.io/yaml"
)

// good holds manifests that the server takes, which together use most of what a pod or workload can say.
//
//go:embed good/*.yaml
var good embed.FS

// cases writes objects that are wrong in few places: good ones with one to three members changed at random.
func cases(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("cases", flag.ContinueOnError)
	seed := flags.Int64("seed", 1, "what to draw from")
	count := flags.Int("count", 1000, "how many cases")
	most := flags.Int("most", 3, "changes in one case, at most")
	if err := flags.Parse(args); err != nil {
		return err
	}
	objects, err := manifests()
	if err != nil {
		return err
	}
	draw := rand.New(rand.NewSource(*seed))
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for number := 0; number < *count; number++ {
		one := objects[number%len(objects)]
		var object map[string]any
		if err := json.Unmarshal(one.text, &object); err != nil {
			return err
		}
		for changes := draw.Intn(*most + 1); changes > 0; changes-- {
			change(draw, object)
		}
		text, err := json.Marshal(object)
		if err != nil {
			return err
		}
		id := fmt.Sprintf("%s-%d-%d", one.name, *seed, number)
		if err := encoder.Encode(testCase{ID: id, Object: text}); err != nil {
			return err
		}
	}
	return nil
}

type manifest struct {
	name string
	text []byte
}

func manifests() ([]manifest, error) {
	entries, err := good.ReadDir("good")
	if err != nil {
		return nil, err
	}
	var all []manifest
	for _, entry := range entries {
		text, err := good.ReadFile("good/" + entry.Name())
		if err != nil {
			return nil, err
		}
		text, err = yaml.YAMLToJSON(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", entry.Name(), err)
		}
		name := strings.TrimSuffix(entry.Name(), ".yaml")
		all = append(all, manifest{name, text})
		if name == "pod" {
			// Most of a pod's rules hold in templates, too, and some only there.
			all = append(all, manifest{name, text}, manifest{name, text})
			template, err := asDeployment(text)
			if err != nil {
				return nil, err
			}
			all = append(all, manifest{"template", template})
		}
	}
	return all, nil
}

func asDeployment(pod []byte) ([]byte, error) {
	var from map[string]any
	if err := json.Unmarshal(pod, &from); err != nil {
		return nil, err
	}
	metadata := from["metadata"].(map[string]any)
	spec := from["spec"].(map[string]any)
	delete(spec, "activeDeadlineSeconds")
	return json.Marshal(map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web"},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": metadata["labels"], "annotations": metadata["annotations"]},
				"spec":     spec,
			},
		},
	})
}

// place is a member of an object or an item of a list.
type place struct {
	object map[string]any
	key    string
	list   []any
	index  int
}

func (p place) get() any {
	if p.object != nil {
		return p.object[p.key]
	}
	return p.list[p.index]
}

func (p place) set(value any) {
	if p.object != nil {
		p.object[p.key] = value
		return
	}
	p.list[p.index] = value
}

// places finds every place below an object, in an order that does not depend on Go's maps.
func places(value any, found *[]place) {
	switch of := value.(type) {
	case map[string]any:
		keys := make([]string, 0, len(of))
		for key := range of {
			keys = append(keys, key)
		}
		sort.Strings(keys)
		for _, key := range keys {
			*found = append(*found, place{object: of, key: key})
			places(of[key], found)
		}
	case []any:
		for index := range of {
			*found = append(*found, place{list: of, index: index})
			places(of[index], found)
		}
	}
}

var texts = []string{
	"", "a", "A_b", "-x", "x-", "a.b", "a/b", "/a", "a/b/c", "Ünicode", "with space", " padded", "..", "../x", "..x", "a/../b",
	"<&>\"'\\\n", strings.Repeat("x", 64), strings.Repeat("y", 254), "In", "Exists", "Never", "Always", "5", "-1", "25%", "101%",
	"1.5", "abc", "0", "100m", "3Gi", "Windows", "windows", "linux", "10.0.0.1", "010.0.0.1", "::ffff:1.2.3.4", "example.com/name",
	"kubernetes.io/foo", "requests.cpu", "hugepages-1Gi", "metadata.name", "status.podIPs", "metadata.labels['a']", "spec.foo",
	"@hourly", "@every 5", "*/0 * * * *", "61 * * * *", "Bidirectional", "Localhost", "Unconfined", "Unmasked", "CAP_SYS_ADMIN",
	"Equal", "Lt", "NoExecute", "Recreate", "OnDelete", "Indexed", "NonIndexed", "default", "kube-system", "0-9", "1,1", "x-y",
}

var numbers = []any{-1, 0, 1, 2, 101, 300, 65536, 100001, 1 << 31, int64(1) << 40, 1.5}

func other(draw *rand.Rand, value any) any {
	switch draw.Intn(12) {
	case 0:
		return nil
	case 1:
		return texts[draw.Intn(len(texts))]
	case 2:
		return numbers[draw.Intn(len(numbers))]
	case 3:
		return draw.Intn(2) == 0
	case 4:
		return []any{}
	case 5:
		return map[string]any{}
	}
	switch of := value.(type) {
	case string:
		return texts[draw.Intn(len(texts))]
	case float64, int, int64:
		return numbers[draw.Intn(len(numbers))]
	case bool:
		return !of
	case []any:
		switch draw.Intn(4) {
		case 0:
			return append([]any{}, of[:len(of)/2]...)
		case 1:
			return append(append([]any{}, of...), clone(of)...)
		case 2:
			return append(append([]any{}, of...), nil)
		}
		return of
	case map[string]any:
		copied := clone([]any{of})[0].(map[string]any)
		keys := make([]string, 0, len(copied))
		for key := range copied {
			keys = append(keys, key)
		}
		sort.Strings(keys)
		switch {
		case len(keys) > 0 && draw.Intn(2) == 0:
			delete(copied, keys[draw.Intn(len(keys))])
		case len(keys) > 0 && draw.Intn(2) == 0:
			key := keys[draw.Intn(len(keys))]
			copied[texts[draw.Intn(len(texts))]] = copied[key]
		default:
			copied["foo"] = 1
		}
		return copied
	}
	return value
}

func clone(list []any) []any {
	text, err := json.Marshal(list)
	if err != nil {
		panic(err)
	}
	var copied []any
	if err := json.Unmarshal(text, &copied); err != nil {
		panic(err)
	}
	return copied
}

func change(draw *rand.Rand, object map[string]any) {
	var all []place
	places(object, &all)
	// An object may have nothing left to change but its kind.
	for attempts := 0; attempts < 100; attempts++ {
		one := all[draw.Intn(len(all))]
		if one.object != nil && (one.key == "apiVersion" || one.key == "kind") {
			continue
		}
		switch {
		case draw.Intn(5) == 0 && one.object != nil:
			delete(one.object, one.key)
		case draw.Intn(8) == 0 && one.object != nil:
			// A value from somewhere else: names that clash, types that do not fit, sources that are two.
			from := all[draw.Intn(len(all))]
			if from.object != nil {
				one.object[from.key] = clone([]any{from.get()})[0]
			}
		default:
			value := other(draw, one.get())
			if _, isNumber := value.(float64); isNumber && draw.Intn(4) > 0 {
				continue
			}
			one.set(value)
		}
		return
	}
}
