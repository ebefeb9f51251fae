"""Checks of a cluster with the Python client: the one of KUBECONFIG. One line for each check; fails if one of them does."""

import datetime
import os
import sys
import threading
import time

from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.exceptions import ApiException

NAMESPACE = "python"
PATIENCE_S = 60
HERE = os.path.dirname(os.path.abspath(__file__))

core = apps = batch = policy = custom = None


def config_map(name, labels=None, data=None):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels=labels), data=data)


def refused(status, call, *arguments, **named):
    """The exception of a call that must be refused so."""
    try:
        call(*arguments, **named)
    except ApiException as error:
        assert error.status == status, f"refused with {error.status}, and not with {status}: {error.body}"
        return error
    raise AssertionError(f"taken, and not refused with {status}")


def eventually(what, ask):
    until = time.monotonic() + PATIENCE_S
    while not ask():
        assert time.monotonic() < until, f"after {PATIENCE_S} s: not {what}"
        time.sleep(0.05)


def created():
    made = core.create_namespaced_config_map(NAMESPACE, config_map("one", {"in": "python"}, {"a": "1"}))
    assert made.metadata.uid and isinstance(made.metadata.creation_timestamp, datetime.datetime)
    again = refused(409, core.create_namespaced_config_map, NAMESPACE, config_map("one"))
    assert '"reason":"AlreadyExists"' in again.body, again.body
    read = core.read_namespaced_config_map("one", NAMESPACE)
    assert read.data == {"a": "1"} and read.metadata.uid == made.metadata.uid
    read.data = {"a": "2"}
    replaced = core.replace_namespaced_config_map("one", NAMESPACE, read)
    assert replaced.metadata.resource_version != made.metadata.resource_version
    refused(409, core.replace_namespaced_config_map, "one", NAMESPACE, read)
    invalid = refused(422, core.create_namespaced_config_map, NAMESPACE, config_map("Not_A_Name"))
    assert '"field":"metadata.name"' in invalid.body, invalid.body
    refused(404, core.read_namespaced_config_map, "none", NAMESPACE)
    dry = core.delete_namespaced_config_map("one", NAMESPACE, dry_run="All")
    assert dry.status == "Success" or dry.metadata, dry
    core.delete_namespaced_config_map("one", NAMESPACE)
    refused(404, core.read_namespaced_config_map, "one", NAMESPACE)


def listed():
    for name in ["l1", "l2", "l3"]:
        core.create_namespaced_config_map(NAMESPACE, config_map(name, {"in": "list", "name": name}))
    page = core.list_namespaced_config_map(NAMESPACE, label_selector="in=list", limit=2)
    assert [one.metadata.name for one in page.items] == ["l1", "l2"]
    rest = core.list_namespaced_config_map(NAMESPACE, label_selector="in=list", limit=2, _continue=page.metadata._continue)
    assert [one.metadata.name for one in rest.items] == ["l3"] and not rest.metadata._continue
    chosen = core.list_namespaced_config_map(NAMESPACE, label_selector="name in (l1, l3),in")
    assert [one.metadata.name for one in chosen.items] == ["l1", "l3"]
    named = core.list_config_map_for_all_namespaces(field_selector=f"metadata.name=l2,metadata.namespace={NAMESPACE}")
    assert len(named.items) == 1
    refused(400, core.list_namespaced_config_map, NAMESPACE, field_selector="data.a=1")
    core.delete_collection_namespaced_config_map(NAMESPACE, label_selector="in=list")
    assert core.list_namespaced_config_map(NAMESPACE, label_selector="in=list").items == []


def patched():
    core.create_namespaced_config_map(NAMESPACE, config_map("patched", data={"a": "1", "b": "2"}))
    merged = core.patch_namespaced_config_map("patched", NAMESPACE, {"data": {"a": None, "c": "3"}})
    assert merged.data == {"b": "2", "c": "3"}, merged.data
    operations = [{"op": "test", "path": "/data/b", "value": "2"}, {"op": "replace", "path": "/data/b", "value": "4"}]
    assert core.patch_namespaced_config_map("patched", NAMESPACE, operations).data["b"] == "4"
    refused(422, core.patch_namespaced_config_map, "patched", NAMESPACE, operations)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "patched"}, "data": {"d": "5"}}
    applied = core.patch_namespaced_config_map(
        "patched", NAMESPACE, body, field_manager="python", _content_type="application/apply-patch+yaml"
    )
    managers = {one.manager: one.operation for one in applied.metadata.managed_fields}
    assert applied.data["d"] == "5" and managers["python"] == "Apply", managers
    core.delete_namespaced_config_map("patched", NAMESPACE)


def watched():
    seen, watcher = [], watch.Watch()
    start = core.list_namespaced_config_map(NAMESPACE).metadata.resource_version

    def write():
        core.create_namespaced_config_map(NAMESPACE, config_map("w", {"in": "watch"}))
        core.patch_namespaced_config_map("w", NAMESPACE, {"data": {"a": "1"}})
        core.delete_namespaced_config_map("w", NAMESPACE)

    writer = threading.Thread(target=write)
    writer.start()
    call = {"resource_version": start, "label_selector": "in=watch", "timeout_seconds": 20}
    for event in watcher.stream(core.list_namespaced_config_map, NAMESPACE, **call):
        seen.append((event["type"], event["object"].metadata.name))
        if len(seen) == 3:
            watcher.stop()
    writer.join()
    assert seen == [("ADDED", "w"), ("MODIFIED", "w"), ("DELETED", "w")], seen


def resumed():
    """A watch that the server ends each second goes on from its last version: nothing twice, nothing lost."""
    seen, watcher = [], watch.Watch()
    start = core.list_namespaced_config_map(NAMESPACE).metadata.resource_version

    def write():
        for number in range(6):
            core.create_namespaced_config_map(NAMESPACE, config_map(f"r{number}", {"in": "resume"}))
            time.sleep(0.4)

    writer = threading.Thread(target=write)
    writer.start()
    watcher.resource_version = start
    until = time.monotonic() + PATIENCE_S
    while len(seen) < 6 and time.monotonic() < until:
        call = {"resource_version": watcher.resource_version, "label_selector": "in=resume", "timeout_seconds": 1}
        for event in watcher.stream(core.list_namespaced_config_map, NAMESPACE, **call):
            seen.append(event["object"].metadata.name)
            if len(seen) == 6:
                watcher.stop()
    writer.join()
    assert seen == [f"r{number}" for number in range(6)], seen
    core.delete_collection_namespaced_config_map(NAMESPACE, label_selector="in=resume")


def from_yaml():
    made = utils.create_from_yaml(client.ApiClient(), os.path.join(HERE, "objects.yaml"), namespace=NAMESPACE)
    assert [group[0].kind for group in made] == ["ConfigMap", "Deployment", "Service", "Job"], made
    eventually("web available", lambda: apps.read_namespaced_deployment_status("web", NAMESPACE).status.available_replicas == 2)
    eventually("once complete", lambda: batch.read_namespaced_job_status("once", NAMESPACE).status.succeeded == 1)
    slices = client.DiscoveryV1Api()
    ready = lambda: [
        address
        for one in slices.list_namespaced_endpoint_slice(NAMESPACE, label_selector="kubernetes.io/service-name=web").items
        for endpoint in one.endpoints or []
        if endpoint.conditions.ready
        for address in endpoint.addresses
    ]
    eventually("two endpoints of the Service", lambda: len(ready()) == 2)
    try:
        utils.create_from_yaml(client.ApiClient(), os.path.join(HERE, "objects.yaml"), namespace=NAMESPACE)
        raise AssertionError("made twice")
    except utils.FailToCreateError as error:
        assert {one.status for one in error.api_exceptions} == {409}, error


def scaled():
    scale = apps.read_namespaced_deployment_scale("web", NAMESPACE)
    assert (scale.spec.replicas, scale.status.selector) == (2, "app=web"), scale
    apps.patch_namespaced_deployment_scale("web", NAMESPACE, {"spec": {"replicas": 3}})
    eventually("three pods", lambda: apps.read_namespaced_deployment("web", NAMESPACE).status.ready_replicas == 3)


def evicted():
    budget = client.V1PodDisruptionBudget(
        metadata=client.V1ObjectMeta(name="web"),
        spec=client.V1PodDisruptionBudgetSpec(max_unavailable=0, selector=client.V1LabelSelector(match_labels={"app": "web"})),
    )
    policy.create_namespaced_pod_disruption_budget(NAMESPACE, budget)
    eventually("the budget counts", lambda: (policy.read_namespaced_pod_disruption_budget("web", NAMESPACE).status.expected_pods or 0) == 3)
    pod = core.list_namespaced_pod(NAMESPACE, label_selector="app=web").items[0].metadata.name
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name=pod, namespace=NAMESPACE))
    blocked = refused(429, core.create_namespaced_pod_eviction, pod, NAMESPACE, eviction)
    assert "needs 3 healthy pods and has 3 currently" in blocked.body, blocked.body
    policy.delete_namespaced_pod_disruption_budget("web", NAMESPACE)
    core.create_namespaced_pod_eviction(pod, NAMESPACE, eviction)
    eventually("the pod is gone", lambda: pod not in [one.metadata.name for one in core.list_namespaced_pod(NAMESPACE).items])


def discovered():
    speaker = dynamic.DynamicClient(client.ApiClient())
    deployments = speaker.resources.get(api_version="apps/v1", kind="Deployment")
    assert deployments.get(name="web", namespace=NAMESPACE).spec.replicas == 3
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 1}}
    deployments.server_side_apply(body=body, namespace=NAMESPACE, field_manager="dynamic", force_conflicts=True)
    assert deployments.get(name="web", namespace=NAMESPACE).spec.replicas == 1
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "required": ["size"], "properties": {"size": {"type": "integer", "maximum": 5}}}},
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}}}
    definitions = speaker.resources.get(api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition")
    names = {"plural": "crews", "singular": "crew", "kind": "Crew"}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "crews.python.example.com"},
        "spec": {"group": "python.example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }
    definitions.create(body=definition)
    established = lambda: any(
        one.type == "Established" and one.status == "True" for one in (definitions.get(name="crews.python.example.com").status or {}).get("conditions") or []
    )
    eventually("established", established)

    def known():
        try:
            speaker.resources.invalidate_cache()
            return speaker.resources.get(api_version="python.example.com/v1", kind="Crew")
        except dynamic.exceptions.ResourceNotFoundError:
            return None

    eventually("in discovery", known)
    crew = {"apiVersion": "python.example.com/v1", "kind": "Crew", "metadata": {"name": "night"}, "spec": {"size": 3}}
    # A real API server may take a moment more until it serves what its discovery lists.
    eventually("served", lambda: served(custom.list_namespaced_custom_object, "python.example.com", "v1", NAMESPACE, "crews"))
    known().create(body=crew, namespace=NAMESPACE)
    got = custom.get_namespaced_custom_object("python.example.com", "v1", NAMESPACE, "crews", "night")
    assert got["spec"] == {"size": 3}
    crew["spec"]["size"] = 6
    crew["metadata"]["name"] = "large"
    large = refused(422, custom.create_namespaced_custom_object, "python.example.com", "v1", NAMESPACE, "crews", crew)
    assert "should be less than or equal to 5" in large.body, large.body
    custom.delete_namespaced_custom_object("python.example.com", "v1", NAMESPACE, "crews", "night")
    definitions.delete(name="crews.python.example.com")


def served(call, *arguments):
    try:
        call(*arguments)
        return True
    except ApiException as error:
        assert error.status == 404, error
        return False


def reviewed():
    review = client.V1SelfSubjectAccessReview(
        spec=client.V1SelfSubjectAccessReviewSpec(resource_attributes=client.V1ResourceAttributes(verb="delete", resource="nodes"))
    )
    assert client.AuthorizationV1Api().create_self_subject_access_review(review).status.allowed
    version = client.VersionApi().get_code()
    assert (version.major, version.minor) == ("1", "36"), version
    anonymous = client.Configuration.get_default_copy()
    anonymous.api_key, anonymous.refresh_api_key_hook = {"authorization": "Bearer wrong", "BearerToken": "Bearer wrong"}, None
    refused(401, client.CoreV1Api(client.ApiClient(anonymous)).list_namespace)


def deleted():
    apps.delete_namespaced_deployment("web", NAMESPACE, propagation_policy="Foreground")
    # The Deployment goes last: after its ReplicaSet, which goes after its pods.
    eventually("the Deployment is gone", lambda: not served(apps.read_namespaced_deployment, "web", NAMESPACE))
    left = [one.metadata.name for one in core.list_namespaced_pod(NAMESPACE, label_selector="app=web").items]
    assert not left, left
    core.delete_namespace(NAMESPACE)
    eventually("the namespace is gone", lambda: NAMESPACE not in [one.metadata.name for one in core.list_namespace().items])


CHECKS = [
    ("create, read, replace, delete, and their refusals", created),
    ("lists: pages, selectors, a collection deleted", listed),
    ("patches: strategic, JSON, apply", patched),
    ("watch: three changes", watched),
    ("watch: resumed when the server ends it", resumed),
    ("utils.create_from_yaml: a Deployment, a Service, a Job", from_yaml),
    ("scale subresource", scaled),
    ("eviction: blocked, granted", evicted),
    ("dynamic client: apply, a definition and its objects", discovered),
    ("reviews, version, a wrong token", reviewed),
    ("deletion in the foreground, and of a namespace", deleted),
]


def main():
    global core, apps, batch, policy, custom
    config.load_kube_config()
    core, apps, batch = client.CoreV1Api(), client.AppsV1Api(), client.BatchV1Api()
    policy, custom = client.PolicyV1Api(), client.CustomObjectsApi()
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=NAMESPACE)))
    failed = 0
    for name, check in CHECKS:
        try:
            check()
            print("ok", name, flush=True)
        except Exception as error:  # Whatever it is, the next check runs.
            failed += 1
            print(f"FAILED {name}: {type(error).__name__}: {' '.join(str(error).split())}", flush=True)
    sys.exit(1 if failed else 0)


main()
