"""Who asks: roles by AssumeRole, IRSA and Pod Identity, presigned requests, and the tokens of `aws eks get-token` on the Kubernetes API."""

import base64
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request

import boto3
import botocore
from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

ROLE = "arn:aws:iam::111122223333:role/team/shop"
SESSION = "arn:aws:sts::111122223333:assumed-role/shop/"


def run(cluster, check):
    """Tries them; `check(name, right, why)` counts."""
    cfg = Config(retries={"max_attempts": 1}, parameter_validation=False)
    sts = boto3.client("sts", config=cfg)

    def code_of(call):
        try:
            return f"it was answered: {call()}"
        except botocore.exceptions.ClientError as error:
            return error.response["Error"]["Code"]

    def is_so(name, found, wanted):
        check(name, found == wanted, f"{found} is not {wanted}")

    is_so("the account's own user", sts.get_caller_identity()["Arn"], "arn:aws:iam::111122223333:user/rehearsal")
    given = sts.assume_role(RoleArn=ROLE, RoleSessionName="me", DurationSeconds=900)["Credentials"]

    def client(service, **changed):
        keys = dict(AccessKeyId="aws_access_key_id", SecretAccessKey="aws_secret_access_key", SessionToken="aws_session_token")
        shown = {**given, **changed}
        return boto3.client(service, config=cfg, **{own: shown[name] for name, own in keys.items()})

    is_so("a role that is assumed", client("sts").get_caller_identity()["Arn"], SESSION + "me")
    calls = dict(sts="get_caller_identity", ec2="describe_vpcs", eks="list_clusters", sqs="list_queues", autoscaling="describe_tags")
    for service, call in calls.items():
        is_so(f"a role calls {service}", "ResponseMetadata" in getattr(client(service), call)(), True)
    codes = dict(sts="InvalidClientTokenId", ec2="AuthFailure", eks="UnrecognizedClientException", autoscaling="InvalidClientTokenId")
    for service, code in codes.items():
        is_so(f"{service}, a token that nobody gave: {code}", code_of(getattr(client(service, SessionToken="x"), calls[service])), code)
    is_so("a temporary key without its token", code_of(client("sts", SessionToken=None).get_caller_identity), "InvalidClientTokenId")
    is_so("another secret", code_of(client("sts", SecretAccessKey="x").get_caller_identity), "SignatureDoesNotMatch")
    is_so("a role of another account", code_of(lambda: sts.assume_role(RoleArn=ROLE.replace("1111", "4444"), RoleSessionName="me")), "AccessDenied")
    is_so("a session that is too short", code_of(lambda: sts.assume_role(RoleArn=ROLE, RoleSessionName="me", DurationSeconds=60)), "ValidationError")
    is_so("a chained session that is too long", code_of(lambda: client("sts").assume_role(RoleArn=ROLE, RoleSessionName="me", DurationSeconds=7200)), "ValidationError")
    other = boto3.client("ec2", region_name="ap-south-2", config=cfg)
    is_so("another region", code_of(other.describe_vpcs), "AuthFailure")
    other = boto3.client("eks", region_name="ap-south-2", config=cfg)
    is_so("another region of EKS", code_of(other.list_clusters), "InvalidSignatureException")
    presigned(sts, given, is_so)
    web_identity(cluster, cfg, code_of, is_so)
    pod_identity(cluster, is_so)
    kubernetes(cluster, is_so)


def asked(url, **headers):
    """The status of a request, and its answer."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def presigned(sts, given, is_so):
    own = sts.generate_presigned_url("get_caller_identity", HttpMethod="GET")
    is_so("a presigned URL", [asked(own)[0], "user/rehearsal" in asked(own)[1]], [200, True])
    is_so("a presigned URL that is changed", "SignatureDoesNotMatch" in asked(own.replace("GetCallerIdentity", "GetCallerIdentit"))[1], True)
    request = AWSRequest("GET", sts.meta.endpoint_url + "/?Action=GetCallerIdentity&Version=2011-06-15")
    keys = Credentials(given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"])
    SigV4QueryAuth(keys, "sts", sts.meta.region_name, expires=60).add_auth(request)
    is_so("a presigned URL of a role", SESSION + "me" in asked(request.url)[1], True)


def account_token(cluster, audience, lasts=3600):
    body = dict(apiVersion="authentication.k8s.io/v1", kind="TokenRequest", spec=dict(audiences=[audience], expirationSeconds=lasts))
    return cluster.ask("POST", "/api/v1/namespaces/default/serviceaccounts/default/token", body)["status"]["token"]


def web_identity(cluster, cfg, code_of, is_so):
    from botocore import UNSIGNED

    sts = boto3.client("sts", config=Config(signature_version=UNSIGNED, retries={"max_attempts": 1}))

    def assume(token):
        return sts.assume_role_with_web_identity(RoleArn=ROLE, RoleSessionName="pod", WebIdentityToken=token)

    token = account_token(cluster, "sts.amazonaws.com")
    found = assume(token)
    is_so("whom a token is for", found["SubjectFromWebIdentityToken"], "system:serviceaccount:default:default")
    is_so("a token for somebody else", code_of(lambda: assume(account_token(cluster, "vault"))), "InvalidIdentityToken")
    is_so("a token that nobody has signed", code_of(lambda: assume(token[:-4] + "AAAA")), "InvalidIdentityToken")
    is_so("what is no token", code_of(lambda: assume("token")), "InvalidIdentityToken")
    is_so("other calls have to be signed", code_of(lambda: sts.assume_role(RoleArn=ROLE, RoleSessionName="me")), "MissingAuthenticationToken")
    file = os.path.join(cluster.folder, "token")
    with open(file, "w") as out:
        out.write(token)
    # The chain of boto3, as in a pod.
    kept = {name: os.environ.pop(name) for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]}
    os.environ.update(AWS_WEB_IDENTITY_TOKEN_FILE=file, AWS_ROLE_ARN=ROLE, AWS_ROLE_SESSION_NAME="chain")
    try:
        is_so("boto3 by IRSA", boto3.Session().client("sts", config=cfg).get_caller_identity()["Arn"], SESSION + "chain")
    finally:
        for name in ["AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME"]:
            del os.environ[name]
        os.environ.update(kept)


def pod_identity(cluster, is_so):
    eks = boto3.client("eks")
    name = eks.list_clusters()["clusters"][0]
    agent = os.environ["AWS_ENDPOINT_URL"] + "/v1/credentials"
    token = account_token(cluster, "pods.eks.amazonaws.com")
    is_so("a pod without a role", asked(agent, Authorization=token)[0], 404)
    made = eks.create_pod_identity_association(clusterName=name, namespace="default", serviceAccount="default", roleArn=ROLE)["association"]
    is_so("a pod's token with another audience", asked(agent, Authorization=account_token(cluster, "x"))[0], 400)
    kept = {one: os.environ.pop(one) for one in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]}
    os.environ.update(AWS_CONTAINER_CREDENTIALS_FULL_URI=agent, AWS_CONTAINER_AUTHORIZATION_TOKEN=token)
    try:
        found = boto3.Session().client("sts").get_caller_identity()["Arn"]
        is_so("boto3 by Pod Identity", found.rsplit("/", 1)[0] + "/", SESSION)
    finally:
        del os.environ["AWS_CONTAINER_CREDENTIALS_FULL_URI"], os.environ["AWS_CONTAINER_AUTHORIZATION_TOKEN"]
        os.environ.update(kept)
    eks.delete_pod_identity_association(clusterName=name, associationId=made["associationId"])


def kubernetes(cluster, is_so):
    program = os.path.join(os.path.dirname(sys.executable), "aws")
    config = os.path.join(cluster.folder, "eks-kubeconfig")

    def aws(*arguments):
        return subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout

    name = boto3.client("eks").list_clusters()["clusters"][0]
    aws("eks", "update-kubeconfig", "--name", name, "--kubeconfig", config)
    with open(config) as read:
        text = read.read()
    is_so("update-kubeconfig names the server", cluster.server in text, True)

    def token(*arguments):
        return json.loads(aws("eks", "get-token", *arguments))["status"]["token"]

    def who(token):
        body = json.dumps(dict(apiVersion="authentication.k8s.io/v1", kind="SelfSubjectReview")).encode()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        request = urllib.request.Request(cluster.server + path, body, headers, method="POST")
        try:
            with urllib.request.urlopen(request, context=cluster.tls) as answer:
                return json.load(answer)["status"]["userInfo"]["username"]
        except urllib.error.HTTPError as error:
            return error.code

    own = token("--cluster-name", name)
    is_so("get-token", who(own), "arn:aws:iam::111122223333:user/rehearsal")
    of_role = token("--cluster-name", name, "--role-arn", ROLE)
    is_so("get-token with a role", str(who(of_role)).startswith(SESSION), True)
    is_so("a token for another cluster", who(token("--cluster-name", "other")), 401)
    url = base64.urlsafe_b64decode(own.removeprefix("k8s-aws-v1.") + "==").decode()
    forged = base64.urlsafe_b64encode(url[:-4].encode() + b"0000").decode().rstrip("=")
    is_so("a token that is changed", who("k8s-aws-v1." + forged), 401)
