"""AWS's clients on `replank cluster up --aws`: boto3, the command line, Cluster Autoscaler, the node termination handler; and the driver on moto."""

import argparse
import os
import sys
import time
import traceback

import autoscaler
import calls
import commands
import described
import elsewhere
import identity
import interruptions
import pending
import settings
import termination
from cluster import Cluster


# Parts that measure and take minutes: only where they are asked for.
MEASURES = ["interruptions", "pending"]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--replank", required=True)
    arguments.add_argument("--autoscaler", required=True)
    arguments.add_argument("--handler", required=True)
    arguments.add_argument("--folder", required=True)
    arguments.add_argument("--only")
    arguments.add_argument("--interrupted", type=int, default=50)
    arguments.add_argument("--pending", type=int, default=10_000)
    asked = arguments.parse_args()
    # No other account is reached, whatever this machine is set up for.
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ.update({"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull})
    counted, wrong = 0, []

    def check(name, right, why):
        nonlocal counted
        counted += 1
        print("ok    " if right else "FAILED", name)
        if not right:
            wrong.append(f"{name}: {why}")

    def of_calls(folder):
        with Cluster(asked.replank, folder, "--nodes", "3", "--speed", "20"):
            calls.run(check)
            described.run(check)
            settings.run(check)

    def of_identity(folder):
        with Cluster(asked.replank, folder, "--nodes", "3") as cluster:
            identity.run(cluster, check)

    def of_commands(folder):
        with Cluster(asked.replank, folder, "--nodes", "3", "--clock", "fast") as cluster:
            commands.run(cluster, check)

    parts = {
        "calls": of_calls,
        "identity": of_identity,
        "commands": of_commands,
        "autoscaler": lambda folder: autoscaler.run(asked.replank, asked.autoscaler, folder, check),
        "termination": lambda folder: termination.run(asked.replank, asked.handler, folder, check),
        "moto": lambda folder: elsewhere.run(folder, check),
        "interruptions": lambda folder: interruptions.run(asked.replank, asked.handler, folder, asked.interrupted, check),
        "pending": lambda folder: pending.run(asked.replank, asked.autoscaler, folder, asked.pending, check),
    }
    for name, part in parts.items():
        if asked.only != name and (asked.only is not None or name in MEASURES):
            continue
        begun = time.monotonic()
        try:
            part(os.path.join(asked.folder, name))
        except Exception:
            wrong.append(f"{name}: {traceback.format_exc()}")
        print(f"{name} took {time.monotonic() - begun:.0f} s")
    print(f"{counted} checks by AWS's clients, {len(wrong)} failed")
    for one in wrong:
        print(one, file=sys.stderr)
    sys.exit(bool(wrong))


main()
