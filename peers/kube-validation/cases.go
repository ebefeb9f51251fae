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
		// What cannot even be read hides all else, so that most cases keep to the types.
		loose := draw.Intn(4) == 0
		for changes := draw.Intn(*most + 1); changes > 0; changes-- {
			change(draw, object, loose)
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

// relatives are members that stand somewhere in a pod or workload, each with a value that it can have.
var relatives = []struct{ name, value string }{
	{"emptyDir", `{}`}, {"hostPath", `{"path":"/x","type":"Foo"}`}, {"secret", `{"secretName":"s","defaultMode":1000}`},
	{"nfs", `{"server":"s","path":"p"}`}, {"iscsi", `{"targetPortal":"p","iqn":"iqn.x","lun":300,"initiatorName":"eui.x"}`},
	{"rbd", `{}`}, {"cephfs", `{}`}, {"fc", `{"targetWWNs":["a"],"wwids":["b"],"lun":300}`}, {"flexVolume", `{"options":{"kubernetes.io/a":"b"}}`},
	{"azureDisk", `{"kind":"Managed","cachingMode":"x"}`}, {"azureFile", `{}`}, {"glusterfs", `{}`}, {"flocker", `{"datasetName":"a/b","datasetUUID":"c"}`},
	{"gcePersistentDisk", `{"partition":-1}`}, {"awsElasticBlockStore", `{"volumeID":"","partition":300}`}, {"quobyte", `{"registry":"a,b:1"}`},
	{"storageos", `{"volumeName":"A","secretRef":{}}`}, {"cinder", `{"secretRef":{}}`}, {"scaleIO", `{}`}, {"photonPersistentDisk", `{}`},
	{"portworxVolume", `{}`}, {"vsphereVolume", `{}`}, {"gitRepo", `{"directory":"/a/../b"}`}, {"csi", `{"driver":"Ä","nodePublishSecretRef":{}}`},
	{"ephemeral", `{"volumeClaimTemplate":{"metadata":{"name":"x","uid":"y","finalizers":["z"]},"spec":{"accessModes":["Foo","ReadWriteOncePod","ReadWriteOnce"],"resources":{"requests":{"storage":"-1"}},"volumeMode":"x","dataSource":{"kind":"Foo"}}}}`},
	{"projected", `{"sources":[{"serviceAccountToken":{"path":"../x","expirationSeconds":5}},{"secret":{"items":[{"key":"a","path":"p"}]},"configMap":{"name":"c","items":[{"key":"a","path":"p"}]}},{"clusterTrustBundle":{"path":"x"}}]}`},
	{"image", `{"pullPolicy":"x"}`}, {"hostNetwork", `true`}, {"hostPID", `true`}, {"hostIPC", `true`}, {"hostUsers", `false`},
	{"shareProcessNamespace", `true`}, {"hostnameOverride", `"A.b"`}, {"setHostnameAsFQDN", `true`}, {"nodeName", `"n"`},
	{"ephemeralContainers", `[{"name":"web","targetContainerName":"no","ports":[{"containerPort":1}],"volumeMounts":[{"name":"tmp","mountPath":"/a","subPath":"b"}]}]`},
	{"activeDeadlineSeconds", `0`}, {"tolerationSeconds", `5`}, {"os", `{"name":"windows"}`}, {"schedulingGroup", `{}`},
	{"exec", `{}`}, {"httpGet", `{"path":"","port":"x--y","scheme":"FTP","httpHeaders":[{"name":"a b"}]}`}, {"tcpSocket", `{"port":0}`}, {"grpc", `{"port":70000}`},
	{"sleep", `{"seconds":100}`}, {"terminationGracePeriodSeconds", `-5`}, {"successThreshold", `3`}, {"stopSignal", `"SIGTERM"`},
	{"restartPolicyRules", `[{"action":"x"},{"action":"Restart","exitCodes":{"operator":"x"}}]`}, {"mountPropagation", `"Bidirectional"`},
	{"recursiveReadOnly", `"Enabled"`}, {"subPathExpr", `"/a"`}, {"volumeDevices", `[{"name":"tmp","devicePath":"/data"},{"name":"block","devicePath":"a/../b"},{"name":"block","devicePath":"/x"}]`},
	{"allowPrivilegeEscalation", `false`}, {"privileged", `true`}, {"capabilities", `{"add":["CAP_SYS_ADMIN"]}`}, {"procMount", `"Unmasked"`},
	{"seccompProfile", `{"type":"Localhost"}`}, {"appArmorProfile", `{"type":"RuntimeDefault","localhostProfile":"x"}`}, {"seLinuxChangePolicy", `"MountOption"`},
	{"windowsOptions", `{"runAsUserName":"a\\b\\c","hostProcess":true,"gmsaCredentialSpec":""}`}, {"readOnlyRootFilesystem", `true`},
	{"annotations", `{"container.apparmor.security.beta.kubernetes.io/web":"unconfined","seccomp.security.alpha.kubernetes.io/pod":"unconfined","kubernetes.io/config.mirror":"x","controller.kubernetes.io/pod-deletion-cost":"+1"}`},
	{"annotations", `{"container.apparmor.security.beta.kubernetes.io/no":"x","container.seccomp.security.alpha.kubernetes.io/web":"localhost/../a"}`},
	{"labels", `{"app":"web","example.com/tier":"front","job-name":"x"}`}, {"ownerReferences", `[{"apiVersion":"v1","kind":"Event","name":"e","uid":"u","controller":true},{"apiVersion":"a/b/c","controller":true}]`},
	{"finalizers", `["orphan","foregroundDeletion","foo"]`}, {"generateName", `"Abc-"`}, {"limits", `{"foo":"1","kubernetes.io/x":"1","requests.a/b":"1","example.com/y":"500m","hugepages-2Mi":"3Mi","hugepages-x":"1","pods":"1"}`},
	{"requests", `{"cpu":"100","example.com/z":"1","memory":"-1"}`}, {"claims", `[{"name":"gpu"},{"name":"gpu","request":"A"},{"name":"no"},{"name":""}]`},
	{"resources", `{"limits":{"cpu":"100m","memory":"1Mi","ephemeral-storage":"1"},"requests":{"cpu":"1","memory":"1Mi"},"claims":[]}`},
	{"matchLabelKeys", `["app","Ä b"]`}, {"mismatchLabelKeys", `["app"]`}, {"matchExpressions", `[{"key":"a b","operator":"In"},{"key":"a","operator":"Exists","values":["x y"]},{"key":"a","operator":"Gt","values":["1"]}]`},
	{"matchFields", `[{"key":"metadata.uid","operator":"In","values":["a","b"]},{"key":"metadata.name","operator":"Gt","values":["A"]}]`},
	{"nodeSelectorTerms", `[]`}, {"minDomains", `0`}, {"selector", `{}`}, {"selector", `{"matchLabels":{"a":"b"}}`}, {"manualSelector", `true`},
	{"successPolicy", `{"rules":[{"succeededIndexes":"3-1"},{"succeededCount":9},{}]}`}, {"completionMode", `"Foo"`}, {"podReplacementPolicy", `"x"`},
	{"podFailurePolicy", `{"rules":[{},{"action":"x","onExitCodes":{"containerName":"no","operator":"In","values":[5,0,5]},"onPodConditions":[{"type":"a b","status":"x"}]},{"action":"FailIndex","onExitCodes":{"values":[]}}]}`},
	{"managedBy", `"a/b c"`}, {"maxFailedIndexes", `200000`}, {"backoffLimitPerIndex", `1`}, {"completions", `200000`}, {"parallelism", `200000`},
	{"rollingUpdate", `{"maxSurge":"0%","maxUnavailable":0,"partition":-1}`}, {"rollingUpdate", `{"maxSurge":"200%","maxUnavailable":"x"}`},
	{"progressDeadlineSeconds", `1`}, {"minReadySeconds", `700`}, {"serviceName", `"A"`}, {"timeZone", `"Local"`}, {"timeZone", `"No/Where"`}, {"schedule", `"TZ=UTC 0 0 * * *"`},
	{"dnsPolicy", `"None"`}, {"nameservers", `["1.2.3.4","1.2.3.4","1.2.3.4","x"]`}, {"options", `[{}]`}, {"resizePolicy", `[{"resourceName":"x","restartPolicy":"y"},{"resourceName":"x"}]`},
	{"namespace", `"A"`}, {"namespaces", `["A b"]`}, {"valueFrom", `{}`}, {"value", `"v"`}, {"configMapRef", `{}`}, {"secretRef", `{"name":"a-"}`}, {"fieldRef", `{"fieldPath":"metadata.annotations['A b']"}`},
	{"resourceFieldRef", `{"resource":"limits.memory","divisor":"3"}`}, {"fileKeyRef", `{"volumeName":"data","path":"../x","key":"=a"}`}, {"configMapKeyRef", `{"key":".."}`},
	{"volumeClaimTemplates", `[{"metadata":{"name":"own"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"0"}}}}]`},
	{"sysctls", `[{"name":"net.a"},{"name":"net.a"},{"name":"A"},{"name":""},{"name":"kernel/sem"}]`}, {"supplementalGroups", `[-1]`},
}

var numbers = []any{-1, 0, 1, 2, 101, 300, 65536, 100001, 1 << 31, int64(1) << 40, 1.5}

func other(draw *rand.Rand, value any, loose bool) any {
	kind := draw.Intn(12)
	if !loose && kind < 6 {
		kind = 6
	}
	switch kind {
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
		if !loose {
			return numbers[draw.Intn(7)]
		}
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
			if loose {
				return append(append([]any{}, of...), nil)
			}
			return []any{}
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
		case loose:
			copied["foo"] = 1
		default:
			// Members of a relative: a second source, a field that another kind has.
			key := relatives[draw.Intn(len(relatives))]
			var value any
			if err := json.Unmarshal([]byte(key.value), &value); err != nil {
				panic(err)
			}
			copied[key.name] = value
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

func change(draw *rand.Rand, object map[string]any, loose bool) {
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
		case loose && draw.Intn(8) == 0 && one.object != nil:
			// A value from somewhere else: names that clash, types that do not fit, sources that are two.
			from := all[draw.Intn(len(all))]
			if from.object != nil {
				one.object[from.key] = clone([]any{from.get()})[0]
			}
		default:
			value := other(draw, one.get(), loose)
			if _, isNumber := value.(float64); isNumber && draw.Intn(4) > 0 {
				continue
			}
			one.set(value)
		}
		return
	}
}
