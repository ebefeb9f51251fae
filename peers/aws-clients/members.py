"""What AWS's models say of the members of calls: which are required, their types, bounds and values; one line for each, as crates/replank-aws/src/members/members.txt has it.

    python members.py > crates/replank-aws/src/members/members.txt
    python members.py --check crates/replank-aws/src/members/members.txt
"""

import sys

import botocore.session

SERVICES = {"autoscaling": "autoscaling", "ec2": "ec2", "eks": "eks", "elbv2": "elasticloadbalancing", "events": "events", "sqs": "sqs", "ssm": "ssm", "sts": "sts"}
# Operations that are served, of services that have many that are not.
EC2 = """CreateLaunchTemplate CreateLaunchTemplateVersion CreateTags DeleteLaunchTemplate DeleteLaunchTemplateVersions DeleteTags DescribeInstanceAttribute DescribeInstanceStatus
DescribeInstanceTypeOfferings DescribeInstanceTypes DescribeInstances DescribeLaunchTemplateVersions DescribeLaunchTemplates DescribeVpcAttribute
GetInstanceTypesFromInstanceRequirements TerminateInstances""".split()
SERVED = {
    "ec2": EC2,
    "elbv2": "DeregisterTargets DescribeLoadBalancers DescribeTargetGroupAttributes DescribeTargetGroups DescribeTargetHealth ModifyTargetGroupAttributes RegisterTargets".split(),
    "events": """DeleteRule DescribeEventBus DescribeRule DisableRule EnableRule ListEventBuses ListRuleNamesByTarget ListRules ListTagsForResource ListTargetsByRule PutEvents PutRule
PutTargets RemoveTargets TagResource TestEventPattern UntagResource""".split(),
    "ssm": "DescribeParameters GetParameter GetParameters GetParametersByPath".split(),
    "sts": "AssumeRole AssumeRoleWithWebIdentity GetCallerIdentity".split(),
}
NOT_SERVED = {
    "autoscaling": """BatchDeleteScheduledAction BatchPutScheduledUpdateGroupAction CancelInstanceRefresh DeleteNotificationConfiguration DeletePolicy DeleteScheduledAction DeleteWarmPool
ExecutePolicy GetPredictiveScalingForecast LaunchInstances PutNotificationConfiguration PutScalingPolicy PutScheduledUpdateGroupAction PutWarmPool RollbackInstanceRefresh
StartInstanceRefresh CreateLaunchConfiguration""".split(),
    "eks": """Capability Connector EksAnywhere Encryption FargateProfile IdentityProvider RegisterCluster CreateCluster DeleteCluster InsightsRefresh Certificate""".split(),
}
# What AWS takes all the same, as its clients know: an empty role takes an add-on's away (Terraform's provider, addon.go).
TAKEN = {("eks", "UpdateAddon", "serviceAccountRoleArn")}
# Patterns that are checked, by their names.
PATTERNS = {
    "[\\u0020-\\uD7FF\\uE000-\\uFFFD\\uD800\\uDC00-\\uDBFF\\uDFFF\\r\\n\\t]*": "shown",
    "[\\.\\-_A-Za-z0-9]+": "word",
}
# What EC2 and SQS say of values is their own; here only what has to be there, and of which type it is.
BARE = {"ec2", "sqs"}


def lines(service, action, shape, path, seen, is_ec2):
    for name, member in sorted(shape.members.items()):
        if is_ec2:
            own = member.serialization.get("queryName") or member.serialization.get("name", name)
            own = own[:1].upper() + own[1:]
        elif member.serialization.get("location") == "querystring":
            own = member.serialization["name"]
        else:
            own = name
        found = list(rule(service, action, member, f"{path}{own}", name in shape.required_members, seen, is_ec2))
        # In a URL every value is a text.
        in_url = member.serialization.get("location") == "querystring"
        yield from [f"{line} url" if in_url else line for line in found]


def rule(service, action, shape, path, is_required, seen, is_ec2):
    kind, said = shape.type_name, []
    of = shape.metadata
    if is_required:
        said.append("required")
    if service not in BARE:
        if kind in ("string", "list", "map", "integer", "long"):
            low, high = of.get("min"), of.get("max")
            if kind == "string" and shape.enum:
                low = high = None
            if low is not None or high is not None:
                said.append(f"{'' if low is None else low}..{'' if high is None else high}")
        if kind == "string" and of.get("pattern") in PATTERNS:
            said.append(PATTERNS[of["pattern"]])
        if kind == "string" and shape.enum:
            said.append("=" + ",".join(shape.enum))
    word = {"integer": "number", "long": "number", "string": "text", "boolean": "flag"}.get(kind, kind)
    if (service, action, path) in TAKEN:
        said = []
    # Members of whom nothing is asked are left out.
    if said or word in ("number", "flag"):
        yield " ".join([f" {path}", word, *said])
    if shape.name in seen:
        return
    seen = seen | {shape.name}
    if kind == "structure":
        yield from lines(service, action, shape, f"{path}.", seen, is_ec2)
    elif kind == "list":
        yield from rule(service, action, shape.member, f"{path}[]", False, seen, is_ec2)
    elif kind == "map":
        yield from rule(service, action, shape.value, f"{path}{{}}", False, seen, is_ec2)


def table():
    session = botocore.session.get_session()
    yield "# Members of calls, by the service models of botocore (Apache License 2.0): peers/aws-clients/members.py writes this file."
    for service, signed in sorted(SERVICES.items(), key=lambda pair: pair[1]):
        model = session.get_service_model(service)
        for action in model.operation_names:
            if service in SERVED and action not in SERVED[service]:
                continue
            if any(word in action for word in NOT_SERVED.get(service, [])):
                continue
            shape = model.operation_model(action).input_shape
            found = [] if shape is None else list(lines(service, action, shape, "", frozenset(), service == "ec2"))
            if found:
                yield f"{signed} {action}"
                yield from found


def main():
    made = "\n".join(table()) + "\n"
    if sys.argv[1:2] == ["--check"]:
        kept = open(sys.argv[2], encoding="utf-8").read()
        wrong = [line for line in set(made.splitlines()) ^ set(kept.splitlines())]
        sys.exit("".join(f"{line}\n" for line in sorted(wrong)[:20]) if made != kept else 0)
    sys.stdout.write(made)


if __name__ == "__main__":
    main()
